/* A server that keeps its clients waiting. One thread, epoll, keep-alive HTTP/1.1, 1 KiB of JSON for every GET:
 *
 *   /delay/N   after N milliseconds
 *   /hold/N    when N requests are being held: proves that N were in flight at once
 *
 * Prints its port on standard output and ends with its parent. A connection that its peer closed is closed with a reset,
 * so that ten thousand of them leave no TIME_WAIT behind on the client's side. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { wheel_slots = 1 << 14, request_capacity = 2048, body_size = 1024 };

typedef struct connection {
    struct connection *previous, *next; /* in a slot of the wheel, or among the held ones */
    int64_t due_ms;
    int descriptor;
    int length;
    bool waiting;
    char request[request_capacity];
} connection;

/* Answers due at millisecond t wait in slot t mod wheel_slots; a list head links to itself. */
static connection wheel[wheel_slots], held;
static long waiting_count, held_count;
static int64_t tick;
static int poller;
static char response[body_size + 256];
static size_t response_length;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void list_init(connection *head) { head->previous = head->next = head; }

static void list_append(connection *head, connection *item) {
    item->previous = head->previous;
    item->next = head;
    head->previous->next = item;
    head->previous = item;
}

static void list_remove(connection *item) {
    item->previous->next = item->next;
    item->next->previous = item->previous;
    list_init(item);
}

static void drop(connection *peer) {
    if (peer->waiting) {
        if (peer->due_ms < 0) held_count--; else waiting_count--;
        list_remove(peer);
    }
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(peer->descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(peer->descriptor);
    free(peer);
}

/* The answer is small and the request was read whole, so the socket's buffer always takes it. A peer that is gone is not
 * dropped here, because this turn of the loop may still hold an event of its: shut down, it reports itself. */
static void answer(connection *peer) {
    list_remove(peer);
    peer->waiting = false;
    if (send(peer->descriptor, response, response_length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)response_length)
        shutdown(peer->descriptor, SHUT_RDWR);
}

static void schedule(connection *peer) {
    long amount = 0;
    if (sscanf(peer->request, "GET /hold/%ld", &amount) == 1) {
        peer->waiting = true;
        peer->due_ms = -1;
        list_append(&held, peer);
        if (++held_count < amount) return;
        held_count = 0;
        connection *next;
        for (connection *item = held.next; item != &held; item = next) {
            next = item->next;
            answer(item);
        }
        return;
    }
    sscanf(peer->request, "GET /delay/%ld", &amount);
    if (amount <= 0) {
        answer(peer);
        return;
    }
    peer->waiting = true;
    peer->due_ms = now_ms() + amount;
    waiting_count++;
    list_append(&wheel[peer->due_ms % wheel_slots], peer);
}

static void advance(void) {
    for (int64_t now = now_ms(); tick < now; ) {
        connection *head = &wheel[++tick % wheel_slots], *next;
        for (connection *item = head->next; item != head; item = next) {
            next = item->next;
            if (item->due_ms > tick) continue; /* of a later turn of the wheel */
            waiting_count--;
            item->due_ms = 0;
            answer(item);
        }
    }
}

static void receive(connection *peer) {
    ssize_t count = recv(peer->descriptor, peer->request + peer->length, request_capacity - 1 - peer->length, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0 || peer->waiting) { /* closed, or pipelined, which no client here does */
        drop(peer);
        return;
    }
    peer->length += count;
    peer->request[peer->length] = 0;
    if (!strstr(peer->request, "\r\n\r\n")) {
        if (peer->length == request_capacity - 1) drop(peer);
        return;
    }
    peer->length = 0;
    schedule(peer);
}

static void accept_all(int listener) {
    for (;;) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0) return;
        int on = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connection *peer = calloc(1, sizeof *peer);
        list_init(peer);
        peer->descriptor = descriptor;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
        epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event);
    }
}

static void make_response(void) {
    char body[body_size + 1];
    int length = snprintf(body, sizeof body, "{\"padding\": \"");
    memset(body + length, 'x', body_size - length);
    memcpy(body + body_size - 2, "\"}", 3);
    response_length = snprintf(
        response, sizeof response, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
        body_size, body);
}

int main(void) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGPIPE, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);

    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 65535)
        || getsockname(listener, (struct sockaddr *)&address, &size)) {
        perror("bench-delay-server");
        return 1;
    }
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);

    for (int slot = 0; slot < wheel_slots; slot++) list_init(&wheel[slot]);
    list_init(&held);
    make_response();
    tick = now_ms();
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);

    struct epoll_event events[512];
    for (;;) {
        int count = epoll_wait(poller, events, 512, waiting_count ? 1 : 1000);
        bool incoming = false;
        for (int index = 0; index < count; index++) {
            if (events[index].data.ptr) receive(events[index].data.ptr); else incoming = true;
        }
        if (incoming) accept_all(listener);
        advance();
    }
}
