/* How a benchmark client reads its options, measures itself and reports: shared by the clients in C and in Swift. */
#ifndef SCOPEDNET_BENCH_MEASURE_H
#define SCOPEDNET_BENCH_MEASURE_H

#include <stdbool.h>

/* One look at this process. */
typedef struct {
    double wall_us; /* monotonic clock */
    double cpu_us;  /* user + system of all threads */
    long rss_kib;   /* resident now */
    long peak_kib;  /* VmHWM: highest since the start, or since bench_window_begin (ru_maxrss would survive exec and lie) */
    int threads;
    int descriptors;
} bench_sample;

bench_sample bench_look(void);

/* Opens the measured window: resets the kernel's high-water mark of this process, then looks. */
bench_sample bench_window_begin(void);

/* Prints the one line `Scripts/bench` reads. `extra` is NULL or more JSON members, without braces. */
void bench_report(long requests, bench_sample begin, bench_sample end, const char *extra);

/* The value of `name=value` among the arguments, or `fallback`. */
const char *bench_option(int argc, char *const *argv, const char *name, const char *fallback);
long bench_number(int argc, char *const *argv, const char *name, long fallback);

/* Raises the soft limit of open descriptors to the hard one. */
void bench_raise_descriptor_limit(void);

/* Says why on standard error and ends the process. */
_Noreturn void bench_fail(const char *what, const char *why);

double bench_clock_us(void);

/* Processor time of the calling thread alone. */
double bench_thread_cpu_us(void);

#endif
