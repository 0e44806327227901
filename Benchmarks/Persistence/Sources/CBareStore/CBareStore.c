#include "CBareStore.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct bare_store {
    sqlite3 *database;
    sqlite3_stmt *put, *get, *touch, *begin, *commit;
    int manifest;
    char folder[4096];
};

enum { manifest_limit = 20 << 10 };

static int name_of(char *buffer, size_t size, int index) { return snprintf(buffer, size, "https://example.test/resource/%d?q=abc", index); }

bare_store *bare_open(const char *folder, int manifest) {
    bare_store *store = calloc(1, sizeof *store);
    if (!store) return NULL;
    store->manifest = manifest;
    snprintf(store->folder, sizeof store->folder, "%s", folder);
    char path[4200];
    snprintf(path, sizeof path, "%s/bare.sqlite", folder);
    mkdir(folder, 0700);
    const char *schema = manifest
        ? "CREATE TABLE IF NOT EXISTS manifest(key TEXT PRIMARY KEY, filename TEXT, size INTEGER, inline_data BLOB, modified INTEGER,"
          " accessed INTEGER, extended BLOB); CREATE INDEX IF NOT EXISTS accessed ON manifest(accessed)"
        : "CREATE TABLE IF NOT EXISTS entry(key TEXT PRIMARY KEY, metadata BLOB, body BLOB)";
    const char *put = manifest ? "INSERT OR REPLACE INTO manifest VALUES(?1, ?2, ?3, ?4, ?5, ?5, ?6)" : "INSERT OR REPLACE INTO entry VALUES(?, ?, ?)";
    const char *get = manifest ? "SELECT extended, inline_data, filename FROM manifest WHERE key = ?" : "SELECT metadata, body FROM entry WHERE key = ?";
    if (sqlite3_open_v2(path, &store->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK
        || sqlite3_exec(store->database, "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=OFF", NULL, NULL, NULL)
        || sqlite3_exec(store->database, schema, NULL, NULL, NULL)
        || sqlite3_prepare_v2(store->database, put, -1, &store->put, NULL) || sqlite3_prepare_v2(store->database, get, -1, &store->get, NULL)
        || sqlite3_prepare_v2(store->database, "BEGIN IMMEDIATE", -1, &store->begin, NULL)
        || sqlite3_prepare_v2(store->database, "COMMIT", -1, &store->commit, NULL)
        || (manifest && sqlite3_prepare_v2(store->database, "UPDATE manifest SET accessed = ? WHERE key = ?", -1, &store->touch, NULL))) {
        bare_close(store);
        return NULL;
    }
    return store;
}

void bare_close(bare_store *store) {
    sqlite3_finalize(store->put);
    sqlite3_finalize(store->get);
    sqlite3_finalize(store->touch);
    sqlite3_finalize(store->begin);
    sqlite3_finalize(store->commit);
    sqlite3_close(store->database);
    free(store);
}

static int run(sqlite3_stmt *statement) {
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? 0 : code;
}

static int write_file(bare_store *store, int index, const void *body, size_t size) {
    char temporary[4200], path[4200];
    snprintf(temporary, sizeof temporary, "%s/%d.tmp", store->folder, index);
    snprintf(path, sizeof path, "%s/%d.body", store->folder, index);
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (descriptor < 0) return -1;
    ssize_t written = write(descriptor, body, size);
    close(descriptor);
    return written == (ssize_t)size ? rename(temporary, path) : -1;
}

static int put_one(bare_store *store, int index, const void *metadata, size_t metadata_size, const void *body, size_t size) {
    char key[128];
    int length = name_of(key, sizeof key, index);
    sqlite3_bind_text(store->put, 1, key, length, SQLITE_STATIC);
    if (!store->manifest) {
        sqlite3_bind_blob64(store->put, 2, metadata, metadata_size, SQLITE_STATIC);
        sqlite3_bind_blob64(store->put, 3, body, size, SQLITE_STATIC);
        return run(store->put);
    }
    char file[64] = "";
    if (size > manifest_limit) {
        snprintf(file, sizeof file, "%d.body", index);
        if (write_file(store, index, body, size) != 0) return -1;
        sqlite3_bind_text(store->put, 2, file, -1, SQLITE_STATIC);
        sqlite3_bind_null(store->put, 4);
    } else {
        sqlite3_bind_null(store->put, 2);
        sqlite3_bind_blob64(store->put, 4, body, size, SQLITE_STATIC);
    }
    sqlite3_bind_int64(store->put, 3, (int64_t)size);
    sqlite3_bind_int64(store->put, 5, time(NULL));
    sqlite3_bind_blob64(store->put, 6, metadata, metadata_size, SQLITE_STATIC);
    return run(store->put);
}

int bare_put(bare_store *store, int first, int count, int batch, const void *metadata, size_t metadata_size, const void *body, size_t size) {
    for (int done = 0; done < count;) {
        int code = run(store->begin);
        for (int index = 0; index < batch && done < count && code == 0; index++, done++) {
            code = put_one(store, first + done, metadata, metadata_size, body, size);
        }
        if (code == 0) code = run(store->commit);
        if (code != 0) return code;
    }
    return 0;
}

static int64_t copy_column(sqlite3_stmt *statement, int column) {
    int size = sqlite3_column_bytes(statement, column);
    void *copy = malloc((size_t)size + 1);
    if (!copy) return -1;
    memcpy(copy, sqlite3_column_blob(statement, column), (size_t)size);
    free(copy);
    return size;
}

static int64_t read_file(bare_store *store, const char *name) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", store->folder, name);
    int descriptor = open(path, O_RDONLY);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) return -1;
    void *copy = malloc((size_t)status.st_size + 1);
    int64_t size = copy ? read(descriptor, copy, (size_t)status.st_size) : -1;
    free(copy);
    close(descriptor);
    return size;
}

int64_t bare_get(bare_store *store, int total, int count) {
    int64_t bytes = 0;
    char key[128];
    for (int index = 0; index < count; index++) {
        int length = name_of(key, sizeof key, (int)((int64_t)index * 7919 % total));
        sqlite3_bind_text(store->get, 1, key, length, SQLITE_STATIC);
        if (sqlite3_step(store->get) != SQLITE_ROW) return -1;
        bytes += copy_column(store->get, 0);
        const char *file = store->manifest ? (const char *)sqlite3_column_text(store->get, 2) : NULL;
        int64_t size = file ? read_file(store, file) : copy_column(store->get, 1);
        if (size < 0) return -1;
        bytes += size;
        sqlite3_reset(store->get);
        if (store->manifest) {
            sqlite3_bind_int64(store->touch, 1, time(NULL));
            sqlite3_bind_text(store->touch, 2, key, length, SQLITE_STATIC);
            if (run(store->touch) != 0) return -1;
        }
    }
    return bytes;
}
