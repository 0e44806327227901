// A VFS for SQLite (https://sqlite.org/vfs.html) that passes every call on to the one SQLite brings, but for the one whose turn it is to fail.
#include "CFaults.h"
#include "Counting.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

/// In front of the real file, in one piece of memory.
typedef struct {
    sqlite3_file base;
    sqlite3_file *real;
} File;

static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;
static sqlite3_io_methods methods;
static atomic_int stays;
static atomic_int broken;

void faults_disk_stays_broken(int value) { atomic_store(&stays, value); }
void faults_repair_disk(void) { atomic_store(&broken, 0); }

static int disk_fails(const char *name) {
    int fails = faults_counts(name);
    if (fails && atomic_load(&stays)) atomic_store(&broken, 1);
    return fails || atomic_load(&broken);
}

static sqlite3_file *real_of(sqlite3_file *file) { return ((File *)file)->real; }

// A disk that has no room is told by the first write that fails; a broken one says so of each.
static int write_error(void) { return atomic_load(&broken) ? SQLITE_IOERR_WRITE : SQLITE_FULL; }
static int lock_error(int error) { return atomic_load(&broken) ? error : SQLITE_BUSY; }

static int file_close(sqlite3_file *file) {
    int result = real_of(file)->pMethods->xClose(real_of(file));
    // What could not be closed is gone all the same, as with close(2).
    return disk_fails("xClose") ? SQLITE_IOERR_CLOSE : result;
}

static int file_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset) {
    return disk_fails("xRead") ? SQLITE_IOERR_READ : real_of(file)->pMethods->xRead(real_of(file), bytes, size, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
    return disk_fails("xWrite") ? write_error() : real_of(file)->pMethods->xWrite(real_of(file), bytes, size, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    return disk_fails("xTruncate") ? SQLITE_IOERR_TRUNCATE : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
    return disk_fails("xSync") ? SQLITE_IOERR_FSYNC : real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return disk_fails("xFileSize") ? SQLITE_IOERR_FSTAT : real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int file_lock(sqlite3_file *file, int lock) {
    return disk_fails("xLock") ? lock_error(SQLITE_IOERR_LOCK) : real_of(file)->pMethods->xLock(real_of(file), lock);
}

static int file_unlock(sqlite3_file *file, int lock) {
    int result = real_of(file)->pMethods->xUnlock(real_of(file), lock);
    return disk_fails("xUnlock") ? SQLITE_IOERR_UNLOCK : result;
}

static int file_check_lock(sqlite3_file *file, int *is_locked) {
    return disk_fails("xCheckReservedLock") ? SQLITE_IOERR_CHECKRESERVEDLOCK
                                            : real_of(file)->pMethods->xCheckReservedLock(real_of(file), is_locked);
}

// Most of what is asked here is advice, which any VFS may not know.
static int file_control(sqlite3_file *file, int operation, void *argument) {
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file) { return real_of(file)->pMethods->xSectorSize(real_of(file)); }
static int file_characteristics(sqlite3_file *file) { return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file)); }

static int file_shm_map(sqlite3_file *file, int page, int size, int extends, void volatile **address) {
    return disk_fails("xShmMap") ? SQLITE_IOERR_SHMMAP : real_of(file)->pMethods->xShmMap(real_of(file), page, size, extends, address);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    // Letting a lock go has no way to fail that SQLite would look at.
    if (flags & SQLITE_SHM_LOCK && disk_fails("xShmLock")) return lock_error(SQLITE_IOERR_SHMLOCK);
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) { real_of(file)->pMethods->xShmBarrier(real_of(file)); }
static int file_shm_unmap(sqlite3_file *file, int deletes) { return real_of(file)->pMethods->xShmUnmap(real_of(file), deletes); }

static int vfs_open(sqlite3_vfs *self, const char *path, sqlite3_file *file, int flags, int *out) {
    (void)self;
    File *ours = (File *)file;
    memset(ours, 0, sizeof *ours);
    ours->real = (sqlite3_file *)(ours + 1);
    if (disk_fails("xOpen")) return SQLITE_CANTOPEN;
    int result = real_vfs->xOpen(real_vfs, path, ours->real, flags, out);
    // Without methods SQLite does not close what did not open.
    if (ours->real->pMethods) ours->base.pMethods = &methods;
    return result;
}

static int vfs_delete(sqlite3_vfs *self, const char *path, int syncs) {
    (void)self;
    return disk_fails("xDelete") ? SQLITE_IOERR_DELETE : real_vfs->xDelete(real_vfs, path, syncs);
}

static int vfs_access(sqlite3_vfs *self, const char *path, int flags, int *answer) {
    (void)self;
    return disk_fails("xAccess") ? SQLITE_IOERR_ACCESS : real_vfs->xAccess(real_vfs, path, flags, answer);
}

static int vfs_full_path(sqlite3_vfs *self, const char *path, int size, char *out) {
    (void)self;
    return disk_fails("xFullPathname") ? SQLITE_CANTOPEN_FULLPATH : real_vfs->xFullPathname(real_vfs, path, size, out);
}

int faults_own_disk(void) {
    real_vfs = sqlite3_vfs_find(NULL);
    if (!real_vfs || real_vfs == &vfs) return real_vfs ? SQLITE_OK : SQLITE_ERROR;
    methods = (sqlite3_io_methods){
        // Version 2: without memory-mapped pages, which the store does not use.
        .iVersion = 2, .xClose = file_close, .xRead = file_read, .xWrite = file_write, .xTruncate = file_truncate, .xSync = file_sync,
        .xFileSize = file_size, .xLock = file_lock, .xUnlock = file_unlock, .xCheckReservedLock = file_check_lock,
        .xFileControl = file_control, .xSectorSize = file_sector_size, .xDeviceCharacteristics = file_characteristics,
        .xShmMap = file_shm_map, .xShmLock = file_shm_lock, .xShmBarrier = file_shm_barrier, .xShmUnmap = file_shm_unmap,
    };
    // Clocks, randomness and libraries are those of the real one.
    vfs = *real_vfs;
    vfs.zName = "faults";
    vfs.szOsFile = (int)sizeof(File) + real_vfs->szOsFile;
    vfs.pNext = NULL;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    vfs.xAccess = vfs_access;
    vfs.xFullPathname = vfs_full_path;
    return sqlite3_vfs_register(&vfs, 1);
}
