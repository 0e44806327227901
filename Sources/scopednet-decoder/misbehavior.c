#ifdef SCOPEDNET_DECODER_TESTING
#define _GNU_SOURCE
#include "misbehavior.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static void loop(void) {
    for (volatile unsigned count = 0;; count++) {}
}

/// Uses no processor: it waits for a request that does not come.
static void wait_forever(void) {
    char byte;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    while (recvmsg(DECODER_SOCKET, &message, 0) > 0) {}
    _exit(0);
}

static void fault(void) { *(volatile int *)8 = 1; }

/// Takes all the memory there is, and then some.
static void allocate(void) {
    for (;;) {
        void *memory = malloc(16 << 20);
        if (!memory) abort();
        memset(memory, 1, 4096);
    }
}

void misbehave_before(const decoder_request *request) {
    switch (request->flags) {
    case DECODER_TEST_OPEN: (void)!open("/etc/passwd", O_RDONLY); break;
    case DECODER_TEST_SOCKET: (void)!socket(AF_INET, SOCK_STREAM, 0); break;
    case DECODER_TEST_EXEC_MEMORY:
        (void)!mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        break;
    case DECODER_TEST_LOOP: loop(); break;
    case DECODER_TEST_WAIT: wait_forever(); break;
    case DECODER_TEST_FAULT: fault(); break;
    case DECODER_TEST_ABORT: abort();
    case DECODER_TEST_ALLOCATE: allocate(); break;
    case DECODER_TEST_HANG_UP:
        close(DECODER_SOCKET);
        loop();
        break;
    default: break;
    }
}

/// The answer, with a descriptor that it should not have.
static void send_descriptor(const decoder_answer *answer) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {0};
    struct iovec piece = {(void *)answer, sizeof *answer};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    int descriptor = 0;
    memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
    (void)!sendmsg(DECODER_SOCKET, &message, MSG_NOSIGNAL);
}

static void send_twice(const decoder_answer *answer) {
    struct iovec piece = {(void *)answer, sizeof *answer};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    (void)!sendmsg(DECODER_SOCKET, &message, MSG_NOSIGNAL);
}

size_t misbehave_after(const decoder_request *request, decoder_answer *answer) {
    switch (request->flags) {
    case DECODER_TEST_WRONG_SIZE: answer->output_width *= 100; break;
    case DECODER_TEST_WRONG_MAGIC: answer->magic ^= 1; break;
    case DECODER_TEST_UNKNOWN_STATUS: answer->status = 77; break;
    case DECODER_TEST_TWO_ANSWERS: send_twice(answer); break;
    case DECODER_TEST_SEND_DESCRIPTOR: send_descriptor(answer); break;
    case DECODER_TEST_SHORT_ANSWER: return 24;
    case DECODER_TEST_LONG_TEXT:
        answer->status = DECODER_DAMAGED;
        memset(answer->text, 'x', sizeof answer->text);
        break;
    default: break;
    }
    return sizeof *answer;
}

bool misbehave_keeps_pixels(const decoder_request *request) { return request->flags == DECODER_TEST_KEEP_PIXELS; }
#endif
