#define _GNU_SOURCE
#include "CFaults.h"
#include "Counting.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int armed;
static atomic_long count;
static atomic_long chosen;
static _Atomic(const char *) failed;
static _Atomic(const char *) chosen_name;
static _Thread_local int exempt;

enum { idle, calls, allocations };

static void arm(int what, long number) {
    atomic_store(&count, 0);
    atomic_store(&chosen, number);
    atomic_store(&failed, NULL);
    atomic_store(&chosen_name, NULL);
    atomic_store(&armed, what);
}

void faults_arm_first(const char *name) {
    arm(idle, 0);
    atomic_store(&chosen_name, name);
    atomic_store(&armed, calls);
}

void faults_arm(long number) { arm(calls, number); }
void faults_arm_memory(long number) { arm(allocations, number); }

long faults_disarm(void) {
    atomic_store(&armed, idle);
    return atomic_load(&count);
}

const char *faults_failed(void) { return atomic_load(&failed); }
void faults_exempt_thread(void) { exempt = 1; }

/// Calls by the program and by libcurl count; those of the Swift runtime, Dispatch and libc themselves are not the library's to survive.
static int is_ours(void *caller) {
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname) return 0;
    const char *name = strrchr(info.dli_fname, '/');
    name = name ? name + 1 : info.dli_fname;
    return strncmp(name, "libcurl", 7) == 0 || strstr(name, ".so") == NULL;
}

static int fails_now(int what, const char *name) {
    if (atomic_load_explicit(&armed, memory_order_relaxed) != what || exempt) return 0;
    long number = atomic_fetch_add(&count, 1) + 1;
    const char *first = atomic_load(&chosen_name);
    if (first ? strcmp(first, name) != 0 || atomic_load(&failed) : number != atomic_load(&chosen)) return 0;
    atomic_store(&failed, name);
    return 1;
}

int faults_counts(const char *name) { return fails_now(calls, name); }

static int fails(const char *name, void *caller) {
    return atomic_load_explicit(&armed, memory_order_relaxed) == calls && is_ours(caller) && fails_now(calls, name);
}

#define REAL(result, name, ...)                                                                                                            \
    static result (*real)(__VA_ARGS__);                                                                                                    \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)
#define FAILS(name) fails(#name, __builtin_return_address(0))

// --- libcurl: pointers that are NULL, codes that say "no memory" -----------------------------------------------------------------------

#define MAKES(name)                                                                                                                        \
    void *name(void) {                                                                                                                     \
        REAL(void *, name, void);                                                                                                          \
        return FAILS(name) ? NULL : real();                                                                                                \
    }
MAKES(curl_easy_init)
MAKES(curl_multi_init)
MAKES(curl_share_init)
MAKES(curl_url)

void *curl_url_dup(void *url) {
    REAL(void *, curl_url_dup, void *);
    return FAILS(curl_url_dup) ? NULL : real(url);
}

void *curl_slist_append(void *list, const char *text) {
    REAL(void *, curl_slist_append, void *, const char *);
    return FAILS(curl_slist_append) ? NULL : real(list, text);
}

int curl_url_set(void *url, int part, const char *text, unsigned flags) {
    REAL(int, curl_url_set, void *, int, const char *, unsigned);
    return FAILS(curl_url_set) ? 7 /* CURLUE_OUT_OF_MEMORY */ : real(url, part, text, flags);
}

int curl_url_get(void *url, int part, char **text, unsigned flags) {
    REAL(int, curl_url_get, void *, int, char **, unsigned);
    return FAILS(curl_url_get) ? 7 /* CURLUE_OUT_OF_MEMORY */ : real(url, part, text, flags);
}

// The third argument is a long, a pointer or a 64-bit number: one register each.
#define SETS(name, error)                                                                                                                  \
    int name(void *handle, int option, ...) {                                                                                              \
        REAL(int, name, void *, int, ...);                                                                                                 \
        va_list list;                                                                                                                      \
        va_start(list, option);                                                                                                            \
        void *value = va_arg(list, void *);                                                                                                \
        va_end(list);                                                                                                                      \
        return FAILS(name) ? (error) : real(handle, option, value);                                                                        \
    }
SETS(curl_easy_setopt, 27 /* CURLE_OUT_OF_MEMORY */)
SETS(curl_multi_setopt, 3 /* CURLM_OUT_OF_MEMORY */)
SETS(curl_share_setopt, 4 /* CURLSHE_NOMEM */)

int curl_multi_add_handle(void *multi, void *easy) {
    REAL(int, curl_multi_add_handle, void *, void *);
    return FAILS(curl_multi_add_handle) ? 3 /* CURLM_OUT_OF_MEMORY */ : real(multi, easy);
}

int curl_multi_socket_action(void *multi, int socket, int events, int *running) {
    REAL(int, curl_multi_socket_action, void *, int, int, int *);
    return FAILS(curl_multi_socket_action) ? 3 /* CURLM_OUT_OF_MEMORY */ : real(multi, socket, events, running);
}

int curl_easy_pause(void *easy, int mask) {
    REAL(int, curl_easy_pause, void *, int);
    return FAILS(curl_easy_pause) ? 27 /* CURLE_OUT_OF_MEMORY */ : real(easy, mask);
}

int curl_easy_getinfo(void *easy, int info, ...) {
    REAL(int, curl_easy_getinfo, void *, int, ...);
    va_list list;
    va_start(list, info);
    void *value = va_arg(list, void *);
    va_end(list);
    return FAILS(curl_easy_getinfo) ? 48 /* CURLE_UNKNOWN_OPTION */ : real(easy, info, value);
}

// --- libcurl's memory ------------------------------------------------------------------------------------------------------------------

static atomic_int owns_memory;

void faults_own_memory(void) { atomic_store(&owns_memory, 1); }

/// Where the process is ended, and by what: by libcurl or the library of HTTP/2 below it, or by somebody else.
static char crash_report[512];

static int is_in_libcurl(void *frame) {
    Dl_info info;
    return dladdr(frame, &info) && info.dli_fname && (strstr(info.dli_fname, "libcurl") || strstr(info.dli_fname, "libnghttp2"));
}

static int is_in_libc(void *frame) {
    Dl_info info;
    return !dladdr(frame, &info) || !info.dli_fname || strstr(info.dli_fname, "/libc.so") != NULL;
}

/// Ends the process with success, and says at which call libcurl came to grief; returns where that cannot be written.
static void tell_of_libcurl(int signal_number) {
    char text[64];
    int size = snprintf(text, sizeof text, "%ld %d\n", atomic_load(&chosen), signal_number);
    int file = open(crash_report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file >= 0 && write(file, text, (size_t)size) == size) _exit(0);
}

static void crashed(int signal_number) {
    void *frames[64];
    int depth = backtrace(frames, 64), index = 1;
    while (index < depth && is_in_libc(frames[index])) index++;
    if (index < depth && is_in_libcurl(frames[index])) tell_of_libcurl(signal_number);
    backtrace_symbols_fd(frames, depth, STDERR_FILENO);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void faults_report_crashes_of_libcurl(const char *path) {
    void *frames[4];
    // The first call loads a library, which no handler of signals may.
    backtrace(frames, 4);
    snprintf(crash_report, sizeof crash_report, "%s", path);
    for (int index = 0; index < 4; index++) signal((int[]){SIGSEGV, SIGBUS, SIGFPE, SIGABRT}[index], crashed);
}

// A block that is freed twice would damage the heap silently, and the process would end wherever the next block is asked for. So each block has a
// head that says whether it is alive, and freed ones are overwritten and kept for a while.
struct block {
    uint64_t state;
    size_t size;
    uint64_t padding[2];
};
static const uint64_t alive = 0x616c6976652e2e2e, freed = 0x66726565642e2e2e;
enum { kept_blocks = 4096 };
static struct block *kept[kept_blocks];
static size_t kept_next;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static void *make_block(size_t size) {
    struct block *block = malloc(sizeof *block + size);
    if (!block) return NULL;
    block->state = alive;
    block->size = size;
    return block + 1;
}

static void free_block(void *memory) {
    if (!memory) return;
    struct block *block = (struct block *)memory - 1;
    if (block->state == freed) {
        if (is_in_libcurl(__builtin_return_address(0))) tell_of_libcurl(SIGABRT);
        abort();
    }
    // A library below libcurl made it: to libcurl all memory is one.
    if (block->state != alive) return free(memory);
    block->state = freed;
    memset(memory, 0xDD, block->size);
    pthread_mutex_lock(&kept_lock);
    struct block *oldest = kept[kept_next];
    kept[kept_next] = block;
    kept_next = (kept_next + 1) % kept_blocks;
    pthread_mutex_unlock(&kept_lock);
    free(oldest);
}

static void *make(size_t size) { return fails_now(allocations, "malloc") ? NULL : make_block(size); }

static void *make_zeroed(size_t number, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(number, size, &total) || fails_now(allocations, "calloc")) return NULL;
    void *memory = make_block(total);
    return memory ? memset(memory, 0, total) : NULL;
}

static void *resize(void *old, size_t size) {
    if (fails_now(allocations, "realloc")) return NULL;
    if (old && ((struct block *)old - 1)->state != alive) return realloc(old, size);
    void *memory = make_block(size);
    if (!memory || !old) return memory;
    size_t before = ((struct block *)old - 1)->size;
    memcpy(memory, old, before < size ? before : size);
    free_block(old);
    return memory;
}

static char *copy(const char *text) {
    size_t size = strlen(text) + 1;
    char *memory = fails_now(allocations, "strdup") ? NULL : make_block(size);
    return memory ? memcpy(memory, text, size) : NULL;
}

int curl_global_init_mem(long, void *(*)(size_t), void (*)(void *), void *(*)(void *, size_t), char *(*)(const char *),
                         void *(*)(size_t, size_t));

int curl_global_init(long flags) {
    REAL(int, curl_global_init, long);
    if (FAILS(curl_global_init)) return 2 /* CURLE_FAILED_INIT */;
    return atomic_load(&owns_memory) ? curl_global_init_mem(flags, make, free_block, resize, copy, make_zeroed) : real(flags);
}

// --- The system: descriptors, threads, files, sockets ---------------------------------------------------------------------------------

#define FAIL_WITH(error)                                                                                                                   \
    do {                                                                                                                                   \
        errno = (error);                                                                                                                   \
        return -1;                                                                                                                         \
    } while (0)

int epoll_create1(int flags) {
    REAL(int, epoll_create1, int);
    if (FAILS(epoll_create1)) FAIL_WITH(EMFILE);
    return real(flags);
}

int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event) {
    REAL(int, epoll_ctl, int, int, int, struct epoll_event *);
    if (operation != EPOLL_CTL_DEL && FAILS(epoll_ctl)) FAIL_WITH(ENOSPC);
    return real(epoll, operation, descriptor, event);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
    REAL(int, epoll_wait, int, struct epoll_event *, int, int);
    if (FAILS(epoll_wait)) FAIL_WITH(EINTR);
    return real(epoll, events, most, timeout);
}

int eventfd(unsigned value, int flags) {
    REAL(int, eventfd, unsigned, int);
    if (FAILS(eventfd)) FAIL_WITH(EMFILE);
    return real(value, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    return FAILS(pthread_create) ? EAGAIN : real(thread, attributes, body, argument);
}

int open(const char *path, int flags, ...) {
    REAL(int, open, const char *, int, ...);
    va_list list;
    va_start(list, flags);
    unsigned mode = va_arg(list, unsigned);
    va_end(list);
    if (FAILS(open)) FAIL_WITH(EMFILE);
    return real(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    REAL(int, openat, int, const char *, int, ...);
    va_list list;
    va_start(list, flags);
    unsigned mode = va_arg(list, unsigned);
    va_end(list);
    if (FAILS(openat)) FAIL_WITH(EMFILE);
    return real(folder, path, flags, mode);
}

ssize_t write(int descriptor, const void *bytes, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    // Of files: an eventfd is not full.
    struct stat status;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && FAILS(write)) FAIL_WITH(ENOSPC);
    return real(descriptor, bytes, size);
}

int close(int descriptor) {
    REAL(int, close, int);
    int result = real(descriptor);
    // The descriptor is gone all the same (close(2)).
    if (FAILS(close)) FAIL_WITH(EIO);
    return result;
}

ssize_t pread(int descriptor, void *bytes, size_t size, off_t offset) {
    REAL(ssize_t, pread, int, void *, size_t, off_t);
    if (FAILS(pread)) FAIL_WITH(EIO);
    return real(descriptor, bytes, size, offset);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    if (FAILS(mkdir)) FAIL_WITH(ENOSPC);
    return real(path, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    REAL(int, mkdirat, int, const char *, mode_t);
    if (FAILS(mkdirat)) FAIL_WITH(ENOSPC);
    return real(folder, path, mode);
}

DIR *fdopendir(int descriptor) {
    REAL(DIR *, fdopendir, int);
    if (FAILS(fdopendir)) {
        errno = ENOMEM;
        return NULL;
    }
    return real(descriptor);
}

DIR *opendir(const char *path) {
    REAL(DIR *, opendir, const char *);
    if (FAILS(opendir)) {
        errno = EMFILE;
        return NULL;
    }
    return real(path);
}

int flock(int descriptor, int operation) {
    REAL(int, flock, int, int);
    if (FAILS(flock)) FAIL_WITH(ENOLCK);
    return real(descriptor, operation);
}

int statvfs(const char *path, struct statvfs *status) {
    REAL(int, statvfs, const char *, struct statvfs *);
    if (FAILS(statvfs)) FAIL_WITH(EIO);
    return real(path, status);
}

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    if (FAILS(rename)) FAIL_WITH(EIO);
    return real(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    REAL(int, renameat, int, const char *, int, const char *);
    if (FAILS(renameat)) FAIL_WITH(EIO);
    return real(from_folder, from, to_folder, to);
}

int unlinkat(int folder, const char *path, int flags) {
    REAL(int, unlinkat, int, const char *, int);
    if (FAILS(unlinkat)) FAIL_WITH(EPERM);
    return real(folder, path, flags);
}

int unlink(const char *path) {
    REAL(int, unlink, const char *);
    if (FAILS(unlink)) FAIL_WITH(EPERM);
    return real(path);
}

int socket(int family, int type, int protocol) {
    REAL(int, socket, int, int, int);
    if (FAILS(socket)) FAIL_WITH(EMFILE);
    return real(family, type, protocol);
}

int socketpair(int family, int type, int protocol, int pair[2]) {
    REAL(int, socketpair, int, int, int, int *);
    if (FAILS(socketpair)) FAIL_WITH(EMFILE);
    return real(family, type, protocol, pair);
}

int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    REAL(int, connect, int, const struct sockaddr *, socklen_t);
    if (FAILS(connect)) FAIL_WITH(ENETUNREACH);
    return real(descriptor, address, size);
}

ssize_t send(int descriptor, const void *bytes, size_t size, int flags) {
    REAL(ssize_t, send, int, const void *, size_t, int);
    if (FAILS(send)) FAIL_WITH(EPIPE);
    return real(descriptor, bytes, size, flags);
}

ssize_t recv(int descriptor, void *bytes, size_t size, int flags) {
    REAL(ssize_t, recv, int, void *, size_t, int);
    if (FAILS(recv)) FAIL_WITH(ECONNRESET);
    return real(descriptor, bytes, size, flags);
}
