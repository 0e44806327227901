// pipe(2) and seccomp(2), for tests: what Swift's Glibc module leaves out and the library does without.
#ifndef TESTS_CSANDBOX_SHIM_H
#define TESTS_CSANDBOX_SHIM_H

#include <sys/prctl.h>
#include <linux/filter.h>

extern int pipe2(int *_Nonnull ends, int flags);

/// What the filter forbids is refused to the calling thread and its children.
static inline int csandbox_filter_system_calls(struct sock_fprog *_Nonnull program) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? prctl(PR_SET_SECCOMP, 2, program) : -1;
}

#endif
