#define _GNU_SOURCE
#include "CHostile.h"

#include <dlfcn.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t offset;
static _Atomic int64_t readings;

void hostile_step_wall_clock(int64_t seconds) { atomic_fetch_add(&offset, seconds); }
int64_t hostile_wall_clock_offset(void) { return atomic_load(&offset); }
int64_t hostile_wall_clock_readings(void) { return atomic_load(&readings); }

#define REAL(result, name, ...)                                                                                                            \
    static result (*real)(__VA_ARGS__);                                                                                                    \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static int64_t moved(void) {
    atomic_fetch_add_explicit(&readings, 1, memory_order_relaxed);
    return atomic_load_explicit(&offset, memory_order_relaxed);
}

// --- Readings --------------------------------------------------------------------------------------------------------------------------

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    int result = real(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI)) time->tv_sec += moved();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    REAL(int, gettimeofday, struct timeval *, void *);
    int result = real(time, zone);
    if (result == 0 && time) time->tv_sec += moved();
    return result;
}

time_t time(time_t *result) {
    REAL(time_t, time, time_t *);
    time_t now = real(NULL) + (time_t)moved();
    if (result) *result = now;
    return now;
}

// --- Waits until a moment of that clock ----------------------------------------------------------------------------------------------

/// The moment as the kernel counts.
static struct timespec unmoved(const struct timespec *moment) {
    struct timespec result = *moment;
    result.tv_sec -= atomic_load(&offset);
    if (result.tv_sec < 0) result.tv_sec = 0;
    return result;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict moment) {
    REAL(int, sem_timedwait, sem_t *, const struct timespec *);
    struct timespec end = unmoved(moment);
    return real(semaphore, &end);
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict moment) {
    REAL(int, pthread_cond_timedwait, pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    // A moment of the monotonic clock lies within the machine's uptime, one of the wall clock decades later.
    if (moment->tv_sec < 1000000000) return real(condition, mutex, moment);
    struct timespec end = unmoved(moment);
    return real(condition, mutex, &end);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict moment) {
    REAL(int, pthread_mutex_timedlock, pthread_mutex_t *, const struct timespec *);
    struct timespec end = unmoved(moment);
    return real(mutex, &end);
}

// --- Processes -------------------------------------------------------------------------------------------------------------------------

pid_t hostile_fork(void) { return fork(); }

int hostile_unshare_mounts(void) {
    if (unshare(CLONE_NEWNS) != 0) return -1;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int hostile_become(uid_t user) {
    if (setgroups(0, NULL) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) return -1;
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

void hostile_close_inherited(void) { close_range(3, ~0U, 0); }
