#include "loop.h"

#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// MARK: libcurl's callbacks

static size_t on_body(char *data, size_t size, size_t count, void *context) {
    loop_slot *slot = context;
    size_t length = size * count;
    int file = slot->owner->options.file;
    if (file >= 0) {
        if (write(file, data, length) != (ssize_t)length) return 0;
    } else {
        if (slot->received + length > (size_t)slot->owner->options.expected_bytes) return 0;
        memcpy(slot->body + slot->received, data, length);
    }
    slot->received += length;
    return length;
}

static int on_timer(CURLM *multi, long timeout_ms, void *context) {
    (void)multi;
    loop *self = context;
    self->deadline_us = timeout_ms < 0 ? -1 : timeout_ms == 0 ? 0 : bench_clock_us() + timeout_ms * 1e3;
    return 0;
}

static uint32_t epoll_mask(int what) {
    return what == CURL_POLL_IN ? EPOLLIN : what == CURL_POLL_OUT ? EPOLLOUT : what == CURL_POLL_INOUT ? EPOLLIN | EPOLLOUT : 0;
}

static void control(loop *self, int operation, int descriptor, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = descriptor};
    if (!epoll_ctl(self->poller, operation, descriptor, &event)) return;
    /* Closed behind our back and opened again under the same number. */
    if (operation == EPOLL_CTL_MOD && errno == ENOENT) epoll_ctl(self->poller, EPOLL_CTL_ADD, descriptor, &event);
}

static int on_socket(CURL *easy, curl_socket_t descriptor, int what, void *context, void *known) {
    (void)easy, (void)known;
    loop *self = context;
    loop_watch *watch = &self->watches[descriptor];
    uint32_t mask = epoll_mask(what);
    watch->wanted = mask;
    if (!mask) {
        if (watch->lazy) return 0; /* stays registered: an unwanted wake-up removes it, the next request finds it in place */
        control(self, EPOLL_CTL_DEL, descriptor, 0);
        watch->registered = 0;
        return 0;
    }
    if (watch->lazy && watch->registered == mask) return 0;
    control(self, watch->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, mask);
    watch->registered = mask;
    return 0;
}

static curl_socket_t on_open(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    loop *self = context;
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (descriptor >= self->watch_count) {
        close(descriptor);
        return CURL_SOCKET_BAD;
    }
    if (descriptor >= 0) self->watches[descriptor] = (loop_watch){.lazy = true};
    return descriptor;
}

static int on_close(void *context, curl_socket_t descriptor) {
    loop *self = context;
    self->watches[descriptor] = (loop_watch){0};
    return close(descriptor);
}

// MARK: Handles

static void set_up(loop *self, loop_slot *slot) {
    const loop_options *options = &self->options;
    slot->owner = self;
    slot->easy = curl_easy_init();
    if (options->file < 0) slot->body = malloc(options->expected_bytes);
    CURL *easy = slot->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, slot);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, options->http2 ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    if (options->http2) curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    if (options->certificate_authority) curl_easy_setopt(easy, CURLOPT_CAINFO, options->certificate_authority);
    if (options->skip_certificate_directory || options->tuned) curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    if (!options->tuned) return;
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, self);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, self);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_SHARE, self->share);
    if (options->file >= 0) curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L * 1024);
}

static void start(loop *self, loop_slot *slot) {
    slot->received = 0;
    if (self->options.tuned) {
        curl_easy_setopt(slot->easy, CURLOPT_CURLU, self->parsed_url);
    } else {
        curl_easy_setopt(slot->easy, CURLOPT_URL, self->options.url);
    }
    curl_multi_add_handle(self->multi, slot->easy);
    self->in_flight++;
}

static void check(loop_slot *slot, CURLcode result) {
    if (result) bench_fail(slot->owner->options.url, curl_easy_strerror(result));
    long status = 0;
    curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) bench_fail(slot->owner->options.url, "not 200");
    if ((long)slot->received != slot->owner->options.expected_bytes) bench_fail(slot->owner->options.url, "a body of the wrong size");
}

// MARK: The loop

static void wait_for_events(loop *self) {
    int timeout_ms = -1;
    if (self->deadline_us >= 0) {
        double left = self->deadline_us == 0 ? 0 : self->deadline_us - bench_clock_us();
        timeout_ms = left <= 0 ? 0 : (int)((left + 999) / 1e3);
    }
    struct epoll_event events[256];
    int count = epoll_wait(self->poller, events, 256, timeout_ms);
    int running;
    for (int index = 0; index < count; index++) {
        int descriptor = events[index].data.fd;
        loop_watch *watch = &self->watches[descriptor];
        if (watch->lazy && !watch->wanted) {
            control(self, EPOLL_CTL_DEL, descriptor, 0);
            watch->registered = 0;
            continue;
        }
        uint32_t got = events[index].events;
        int action = (got & EPOLLIN ? CURL_CSELECT_IN : 0) | (got & EPOLLOUT ? CURL_CSELECT_OUT : 0)
            | (got & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(self->multi, descriptor, action, &running);
    }
    if (self->deadline_us >= 0 && (self->deadline_us == 0 || self->deadline_us <= bench_clock_us())) {
        self->deadline_us = -1;
        curl_multi_socket_action(self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

void loop_run(loop *self, long requests, long in_flight) {
    long started = 0, finished = 0;
    for (; started < requests && started < in_flight; started++) start(self, &self->slots[started]);
    while (finished < requests) {
        wait_for_events(self);
        int left;
        for (CURLMsg *message; (message = curl_multi_info_read(self->multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            CURLcode result = message->data.result;
            loop_slot *slot;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
            check(slot, result);
            curl_multi_remove_handle(self->multi, slot->easy);
            self->in_flight--;
            finished++;
            if (started < requests) {
                start(self, slot);
                started++;
            }
        }
    }
}

void loop_open(loop *self, loop_options options) {
    *self = (loop){.options = options, .deadline_us = -1};
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    self->watch_count = limit.rlim_cur < 1 << 20 ? (int)limit.rlim_cur : 1 << 20;
    self->watches = calloc(self->watch_count, sizeof *self->watches);
    self->poller = epoll_create1(EPOLL_CLOEXEC);
    self->multi = curl_multi_init();
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETDATA, self);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERDATA, self);
    curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, options.slots + 16);
    curl_multi_setopt(self->multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.host_connections);
    if (options.tuned) {
        self->share = curl_share_init();
        curl_share_setopt(self->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
        self->parsed_url = curl_url();
        if (curl_url_set(self->parsed_url, CURLUPART_URL, options.url, 0)) bench_fail(options.url, "not a URL");
    }
    self->slots = calloc(options.slots, sizeof *self->slots);
    for (long index = 0; index < options.slots; index++) set_up(self, &self->slots[index]);
}

void loop_close(loop *self) {
    for (long index = 0; index < self->options.slots; index++) {
        curl_easy_cleanup(self->slots[index].easy);
        free(self->slots[index].body);
    }
    curl_multi_cleanup(self->multi);
    if (self->share) curl_share_cleanup(self->share);
    if (self->parsed_url) curl_url_cleanup(self->parsed_url);
    close(self->poller);
    free(self->slots);
    free(self->watches);
}
