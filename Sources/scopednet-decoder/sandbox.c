// Limits of resources (setrlimit(2)), and a filter of system calls (seccomp(2)) in the instructions of classic BPF.
#define _GNU_SOURCE
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

// MARK: Limits

static bool limit(int resource, rlim_t most) {
    struct rlimit limits = {most, most};
    return setrlimit(resource, &limits) == 0;
}

/// Whatever the program has left open for its children. What the kernel has no call for is closed one by one.
static void close_others(void) {
    enum { FIRST = 4, MOST = 4096 };
#ifdef __NR_close_range
    if (syscall(__NR_close_range, FIRST, ~0U, 0) == 0) return;
#endif
    for (int descriptor = FIRST; descriptor < MOST; descriptor++) close(descriptor);
}

/// A sanitizer reserves terabytes of addresses, and none of them are memory.
static bool limit_memory(uint64_t memory) {
#ifdef HAS_SANITIZER
    (void)memory;
    return true;
#else
    return limit(RLIMIT_AS, (rlim_t)memory);
#endif
}

/// A crash ends the process by its signal. The run-time library of Swift, which SwiftPM links into each program, may have a handler that
/// starts a debugger.
static void restore_signals(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
}

bool sandbox_limit(uint64_t memory) {
    close_others();
    restore_signals();
    // Not PR_SET_PDEATHSIG: that signal comes when the thread ends that has started this process, and a pool of threads ends some while
    // the program goes on. The socket tells of the program's end, and RLIMIT_CPU, which the program raises before each picture, ends what
    // goes on without it.
    bool is_private = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
    bool is_limited = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NOFILE, 8) && limit_memory(memory);
    return is_private && is_limited;
}

// MARK: Filter

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "The filter of system calls is written for x86_64 and aarch64."
#endif

// The values of system calls are the low halves of 64 bits, on machines that store these first.
#define ARGUMENT(index) ((unsigned)(offsetof(struct seccomp_data, args) + 8 * (index)))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define KILL RETURN(SECCOMP_RET_KILL_PROCESS)
/// Skips `count` instructions unless the value that was loaded is `wanted`.
#define UNLESS(wanted, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (wanted), 0, (count))
#define ALLOW_CALL(name) UNLESS(__NR_##name, 1), ALLOW
/// Allows a call where its argument `index` is `wanted`.
#define ALLOW_CALL_IF(name, index, wanted) UNLESS(__NR_##name, 4), LOAD(ARGUMENT(index)), UNLESS((wanted), 1), ALLOW, KILL
/// Allows a call where its argument `index` has none of the bits `refused`.
#define ALLOW_CALL_WITHOUT(name, index, refused) \
    UNLESS(__NR_##name, 4), LOAD(ARGUMENT(index)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (refused), 1, 0), ALLOW, KILL

static bool install(struct sock_filter *filter, unsigned short count) {
    struct sock_fprog program = {count, filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

bool sandbox_filter(void) {
    struct sock_filter filter[] = {
        LOAD(offsetof(struct seccomp_data, arch)), UNLESS(ARCHITECTURE, 1), BPF_STMT(BPF_JMP | BPF_JA, 1), KILL,
        // Numbers of the x32 ABI are none of the following.
        LOAD(offsetof(struct seccomp_data, nr)),
        // Messages on the one socket.
        ALLOW_CALL_IF(recvmsg, 0, 3), ALLOW_CALL_IF(sendmsg, 0, 3), ALLOW_CALL(close),
        // Memory, none of it for code.
        ALLOW_CALL_WITHOUT(mmap, 2, PROT_EXEC), ALLOW_CALL_WITHOUT(mprotect, 2, PROT_EXEC),
        ALLOW_CALL(munmap), ALLOW_CALL(mremap), ALLOW_CALL(brk), ALLOW_CALL(madvise),
        // Locks, the clock and the end.
        ALLOW_CALL(futex), ALLOW_CALL(clock_gettime), ALLOW_CALL(rt_sigreturn), ALLOW_CALL(exit_group),
        // abort(3), and the message before it on the standard error, which is /dev/null.
        ALLOW_CALL_IF(writev, 0, 2), ALLOW_CALL_IF(write, 0, 2), ALLOW_CALL(rt_sigprocmask), ALLOW_CALL(gettid), ALLOW_CALL(getpid),
        ALLOW_CALL_IF(tgkill, 0, (unsigned)getpid()),
#ifdef HAS_SANITIZER
        ALLOW_CALL(sigaltstack), ALLOW_CALL(sched_yield), ALLOW_CALL(rt_sigaction), ALLOW_CALL(getrusage), ALLOW_CALL(gettimeofday),
#endif
        KILL,
    };
    return install(filter, sizeof filter / sizeof *filter);
}
