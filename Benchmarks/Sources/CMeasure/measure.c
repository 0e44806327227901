#include "measure.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double clock_us(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

double bench_clock_us(void) { return clock_us(CLOCK_MONOTONIC); }
double bench_thread_cpu_us(void) { return clock_us(CLOCK_THREAD_CPUTIME_ID); }

static double cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static int count_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    if (!directory) return -1;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    closedir(directory);
    return count - 1; /* the one used for looking */
}

bench_sample bench_look(void) {
    bench_sample sample = {.wall_us = bench_clock_us(), .cpu_us = cpu_us()};
    FILE *status = fopen("/proc/self/status", "r");
    if (status) {
        char line[256];
        while (fgets(line, sizeof line, status)) {
            sscanf(line, "VmHWM: %ld", &sample.peak_kib);
            sscanf(line, "VmRSS: %ld", &sample.rss_kib);
            sscanf(line, "Threads: %d", &sample.threads);
        }
        fclose(status);
    }
    sample.descriptors = count_descriptors();
    return sample;
}

bench_sample bench_window_begin(void) {
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        if (write(file, "5", 1) < 0) perror("clear_refs");
        close(file);
    }
    bench_sample sample = bench_look();
    sample.cpu_us = cpu_us(); /* looking is not part of the window */
    sample.wall_us = bench_clock_us();
    return sample;
}

void bench_report(long requests, bench_sample begin, bench_sample end, const char *extra) {
    printf(
        "{\"requests\": %ld, \"wall_us\": %.1f, \"cpu_us\": %.1f, \"base_kib\": %ld, \"peak_kib\": %ld, \"end_kib\": %ld, "
        "\"threads\": [%d, %d], \"descriptors\": [%d, %d]%s%s}\n",
        requests, end.wall_us - begin.wall_us, end.cpu_us - begin.cpu_us, begin.rss_kib, end.peak_kib, end.rss_kib,
        begin.threads, end.threads, begin.descriptors, end.descriptors, extra ? ", " : "", extra ? extra : "");
    fflush(stdout);
}

const char *bench_option(int argc, char *const *argv, const char *name, const char *fallback) {
    size_t length = strlen(name);
    for (int index = 1; index < argc; index++)
        if (!strncmp(argv[index], name, length) && argv[index][length] == '=') return argv[index] + length + 1;
    return fallback;
}

long bench_number(int argc, char *const *argv, const char *name, long fallback) {
    const char *text = bench_option(argc, argv, name, NULL);
    return text ? strtol(text, NULL, 10) : fallback;
}

void bench_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void bench_fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}
