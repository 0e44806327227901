/* bench-c <scenario> name=value ...        a client in C on libcurl; see Scripts/bench for the scenarios
 * bench-c launch runs=N command arguments  starts a program N times and times it from fork to its first output */
#define _GNU_SOURCE
#include "loop.h"
#include "measure.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static loop_options read_options(int argc, char **argv, long slots) {
    return (loop_options){
        .tuned = bench_number(argc, argv, "tuned", 0),
        .url = bench_option(argc, argv, "url", NULL),
        .certificate_authority = bench_option(argc, argv, "ca", NULL),
        .skip_certificate_directory = bench_number(argc, argv, "capath-off", 0),
        .expected_bytes = bench_number(argc, argv, "bytes", 1024),
        .host_connections = bench_number(argc, argv, "host-connections", 0),
        .slots = slots,
        .file = -1,
        .http2 = bench_number(argc, argv, "http2", 0),
    };
}

/* One request to another server, so that nothing of the process itself is new in the window. */
static void warm_process(int argc, char **argv) {
    const char *url = bench_option(argc, argv, "warm-url", NULL);
    if (!url) return;
    loop_options options = read_options(argc, argv, 1);
    options.url = url;
    options.expected_bytes = 1024;
    loop warm;
    loop_open(&warm, options);
    loop_run(&warm, 1, 1);
    loop_close(&warm);
}

/* A closed loop: as soon as one request ends, the next one starts. */
static void run_load(int argc, char **argv) {
    long requests = bench_number(argc, argv, "requests", 1000), in_flight = bench_number(argc, argv, "in-flight", 1);
    loop client;
    loop_open(&client, read_options(argc, argv, in_flight));
    loop_run(&client, bench_number(argc, argv, "warm-up", 0), in_flight);
    bench_sample begin = bench_window_begin();
    loop_run(&client, requests, in_flight);
    bench_report(requests, begin, bench_look(), NULL);
    loop_close(&client);
}

/* Everything at once. `connections` at a time go to libcurl and the rest waits here, where it costs nothing; with
 * `host-connections` instead, libcurl gets all of it and does the queueing. */
static void run_burst(int argc, char **argv) {
    long requests = bench_number(argc, argv, "requests", 1000);
    long in_flight = bench_number(argc, argv, "connections", requests);
    long warm_up = bench_number(argc, argv, "warm-up", 0);
    warm_process(argc, argv);
    loop client;
    loop_options options = read_options(argc, argv, warm_up ? in_flight : 0);
    if (warm_up) { /* the queue is measured with its connections open, and costs no handles */
        loop_open(&client, options);
        loop_run(&client, warm_up, in_flight < 64 ? in_flight : 64);
    }
    bench_sample begin = bench_window_begin();
    if (!warm_up) { /* what is in flight is measured with all it needs */
        options.slots = in_flight;
        loop_open(&client, options);
    }
    loop_run(&client, requests, in_flight);
    bench_report(requests, begin, bench_look(), NULL);
}

static void run_wait(int argc, char **argv) {
    warm_process(argc, argv);
    loop client;
    loop_open(&client, read_options(argc, argv, 1));
    bench_sample begin = bench_window_begin();
    loop_run(&client, 1, 1);
    bench_report(1, begin, bench_look(), NULL);
}

static void run_download(int argc, char **argv) {
    warm_process(argc, argv);
    loop client;
    loop_options options = read_options(argc, argv, 1);
    options.file = open(bench_option(argc, argv, "path", "download"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bench_sample begin = bench_window_begin();
    loop_open(&client, options);
    loop_run(&client, 1, 1);
    close(options.file);
    bench_report(1, begin, bench_look(), NULL);
}

static void run_cold(int argc, char **argv) {
    loop client;
    loop_open(&client, read_options(argc, argv, 1));
    loop_run(&client, 1, 1);
    bench_sample end = bench_look();
    bench_report(1, (bench_sample){0}, end, NULL);
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

/* Its output is the line of the last run, with the median time in place of that run's own. */
static int launch(int argc, char **argv) {
    int runs = (int)bench_number(argc, argv, "runs", 20);
    double *times = calloc(runs, sizeof *times), cpu = 0;
    long peak = 0;
    for (int run = 0; run < runs; run++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC)) return 1;
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        double begin = bench_clock_us();
        pid_t child;
        if (posix_spawn(&child, argv[3], &actions, NULL, argv + 3, environ)) return 1;
        close(ends[1]);
        char line[1024];
        ssize_t count = read(ends[0], line, sizeof line - 1);
        times[run] = bench_clock_us() - begin;
        close(ends[0]);
        int status;
        waitpid(child, &status, 0);
        if (count <= 0 || status) return 1;
        line[count] = 0;
        double this_cpu = 0;
        char *cpu_member = strstr(line, "\"cpu_us\": "), *peak_member = strstr(line, "\"peak_kib\": ");
        if (!cpu_member || !peak_member) return 1;
        sscanf(cpu_member, "\"cpu_us\": %lf", &this_cpu);
        sscanf(peak_member, "\"peak_kib\": %ld", &peak);
        cpu += this_cpu;
    }
    qsort(times, runs, sizeof *times, compare);
    printf(
        "{\"requests\": 1, \"wall_us\": %.1f, \"cpu_us\": %.1f, \"base_kib\": 0, \"peak_kib\": %ld}\n", times[runs / 2],
        cpu / runs, peak);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: bench-c load|burst|wait|download|cold|launch name=value ...\n");
        return 2;
    }
    bench_raise_descriptor_limit();
    const char *scenario = argv[1];
    if (!strcmp(scenario, "launch")) return launch(argc, argv);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (!strcmp(scenario, "load")) run_load(argc, argv);
    else if (!strcmp(scenario, "burst")) run_burst(argc, argv);
    else if (!strcmp(scenario, "wait")) run_wait(argc, argv);
    else if (!strcmp(scenario, "download")) run_download(argc, argv);
    else if (!strcmp(scenario, "cold")) run_cold(argc, argv);
    else return 2;
    return 0;
}
