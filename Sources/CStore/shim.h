// flock(2), eventfd(2), O_PATH, access control lists, and sockets by path: parts of glibc that Swift's Glibc module leaves out, or hides behind a
// struct of the same name.
#ifndef SCOPEDNET_CSTORE_SHIM_H
#define SCOPEDNET_CSTORE_SHIM_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const int CSTORE_LOCK_SHARED = LOCK_SH;
static const int CSTORE_LOCK_EXCLUSIVE = LOCK_EX;
static const int CSTORE_LOCK_NONBLOCKING = LOCK_NB;
static const int CSTORE_UNLOCK = LOCK_UN;

// Not <fcntl.h>: it would bring a second `struct stat`. The value is that of all architectures Swift runs on.
static const int CSTORE_O_PATH = 010000000;

/// secure_getenv(3), which Swift's module hides.
static inline const char *_Nullable cstore_environment(const char *_Nonnull name) {
    extern char *secure_getenv(const char *);
    return secure_getenv(name);
}

/// Whether an access control list (acl(5)) names further users or groups; also where that cannot be found out.
static inline int cstore_has_access_list(int descriptor) {
    extern ssize_t fgetxattr(int, const char *, void *, size_t);
    ssize_t size = fgetxattr(descriptor, "system.posix_acl_access", NULL, 0);
    return size >= 0 ? size > 0 : errno != ENODATA && errno != EOPNOTSUPP;
}

static inline int cstore_lock(int descriptor, int operation) { return flock(descriptor, operation); }

static inline int cstore_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/// Connects to a socket of the file system. The descriptor, or -1 with errno.
static inline int cstore_connect(const char *_Nonnull path) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    if (connect(descriptor, (const struct sockaddr *)&address, sizeof address) != 0) {
        int code = errno;
        close(descriptor);
        errno = code;
        return -1;
    }
    return descriptor;
}

/// The header of a write-ahead log's index in shared memory: 48 bytes, twice (https://sqlite.org/walformat.html).
typedef struct {
    uint32_t words[12];
} cstore_wal_header;

/// Reads both copies while other processes may write them. False where they differ.
static inline _Bool cstore_read_wal_header(const void *_Nonnull memory, cstore_wal_header *_Nonnull header) {
    const volatile uint32_t *first = memory, *second = first + 12;
    _Bool equal = 1;
    // They write the second copy first: read in the other order, equal copies are a header that was published.
    for (int index = 0; index < 12; index++) header->words[index] = __atomic_load_n(first + index, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (int index = 0; index < 12; index++) equal &= header->words[index] == __atomic_load_n(second + index, __ATOMIC_RELAXED);
    return equal;
}

static inline _Bool cstore_wal_headers_equal(cstore_wal_header left, cstore_wal_header right) {
    return memcmp(&left, &right, sizeof left) == 0;
}

#endif
