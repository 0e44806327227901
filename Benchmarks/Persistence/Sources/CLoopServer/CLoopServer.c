#define _GNU_SOURCE
#include "CLoopServer.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { REQUEST = 8192, CONNECTIONS = 4096 };

static char *requests[CONNECTIONS];
static size_t lengths[CONNECTIONS];

static int head(char *text, size_t size, int status, size_t body)
{
    char date[64];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    int count = snprintf(
        text, size,
        "HTTP/1.1 %s\r\nServer: loop\r\nDate: %s\r\nCache-Control: max-age=600\r\nETag: \"4f2a-61b\"\r\n"
        "Last-Modified: Mon, 02 Nov 2026 08:00:00 GMT\r\nConnection: keep-alive\r\n",
        status == 200 ? "200 OK" : "304 Not Modified", date);
    if (status == 200)
        count += snprintf(text + count, size - count, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body);
    return count + snprintf(text + count, size - count, "\r\n");
}

static int answer(int fd, const char *request, const char *body, size_t size)
{
    static char reply[1 << 20];
    int status = strcasestr(request, "if-none-match") ? 304 : 200;
    size_t count = head(reply, sizeof reply, status, size);
    if (status == 200) {
        memcpy(reply + count, body, size);
        count += size;
    }
    for (size_t sent = 0; sent < count;) {
        ssize_t now = write(fd, reply + sent, count - sent);
        if (now <= 0) return -1;
        sent += now;
    }
    return 0;
}

static void serve(int listener, size_t size)
{
    char *body = malloc(size + 1);
    memset(body, 'x', size);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = listener };
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    struct epoll_event events[64];
    for (;;) {
        int ready = epoll_wait(poll, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                int client = accept(listener, NULL, NULL);
                if (client < 0 || client >= CONNECTIONS) { close(client); continue; }
                int yes = 1;
                setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                event.data.fd = client;
                epoll_ctl(poll, EPOLL_CTL_ADD, client, &event);
                if (!requests[client]) requests[client] = malloc(REQUEST + 1);
                lengths[client] = 0;
                continue;
            }
            ssize_t count = read(fd, requests[fd] + lengths[fd], REQUEST - lengths[fd]);
            if (count <= 0) { close(fd); continue; }
            lengths[fd] += count;
            requests[fd][lengths[fd]] = 0;
            // Clients here never send a second request before the response to the first.
            if (!strstr(requests[fd], "\r\n\r\n")) continue;
            lengths[fd] = 0;
            if (answer(fd, requests[fd], body, size)) close(fd);
        }
    }
}

int loop_server_start(size_t body)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 512)) return -1;
    if (getsockname(listener, (struct sockaddr *)&address, &size)) return -1;
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        serve(listener, body);
        _exit(0);
    }
    close(listener);
    return ntohs(address.sin_port);
}
