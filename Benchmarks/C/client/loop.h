/* The two libcurl loops everything is compared with.
 *
 *   textbook  libcurl's own multi-socket examples: pooled easy handles, CURLOPT_URL for each request, a descriptor is removed
 *             from epoll whenever libcurl says so
 *   tuned     the same with what was measured to pay: lazy removal of descriptors, one parsed CURLU, no look at the proxy
 *             environment, CAPATH off, TLS sessions shared by all handles, 512 KiB buffer for downloads
 *
 * In both, a timer is a deadline passed to epoll_wait and a body goes to a buffer its slot reuses. */
#ifndef SCOPEDNET_BENCH_LOOP_H
#define SCOPEDNET_BENCH_LOOP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

typedef struct {
    bool tuned;
    const char *url;
    const char *certificate_authority; /* NULL: the system's */
    bool skip_certificate_directory;   /* CURLOPT_CAPATH = NULL; tuned does so anyway */
    long expected_bytes;
    long host_connections;             /* CURLMOPT_MAX_HOST_CONNECTIONS; 0 = off */
    long slots;                        /* easy handles */
    int file;                          /* bodies are written here; -1 = to the slot's buffer */
    bool http2;
} loop_options;

typedef struct {
    CURL *easy;
    struct loop *owner;
    char *body;
    size_t received;
} loop_slot;

/* What epoll was told about a descriptor, and what libcurl wants. */
typedef struct {
    uint32_t registered, wanted;
    bool lazy; /* opened through us, so closed through us */
} loop_watch;

typedef struct loop {
    loop_options options;
    CURLM *multi;
    CURLSH *share;
    CURLU *parsed_url;
    int poller;
    double deadline_us; /* < 0: none */
    loop_watch *watches;
    int watch_count;
    loop_slot *slots;
    long in_flight;
} loop;

void loop_open(loop *self, loop_options options);
void loop_close(loop *self);

/* Runs `requests` requests, `in_flight` of them at a time. Ends the process on the first one that fails. */
void loop_run(loop *self, long requests, long in_flight);

#endif
