// The messages between a program and its helper. Both run on one machine: integers are in its byte order.
//
// They go over a socket of type SOCK_SEQPACKET, one message each, at descriptor 3 of the helper. A request has two descriptors with it: the
// file, and the memory for its pixels, which the program has sized. The helper answers each request once. What it says is checked by the
// program, and no size is taken from it. `HelperMessage.swift` has the other side; a change here takes a new version.
#ifndef SCOPEDNET_DECODER_PROTOCOL_H
#define SCOPEDNET_DECODER_PROTOCOL_H

#include <stdint.h>

#define DECODER_MAGIC UINT64_C(0x53634e6574496d67)
#define DECODER_VERSION 3
#define DECODER_SOCKET 3
#define DECODER_TEXT 200

/// Exit statuses; sysexits.h has the first two.
enum {
    DECODER_EXIT_USAGE = 64,
    DECODER_EXIT_UNAVAILABLE = 69,
    DECODER_EXIT_NO_LIMITS = 70,
    DECODER_EXIT_NO_FILTER = 71,
};

enum { DECODER_JPEG = 1, DECODER_PNG = 2, DECODER_WEBP = 3, DECODER_WEBP_ANIMATION = 4 };

/// The statuses of an answer; the first six are those of CImageCodecs.h.
enum {
    DECODER_OK = 0,
    DECODER_DAMAGED = 1,
    DECODER_CANCELLED = 2,
    DECODER_SCANS = 3,
    DECODER_MEMORY = 4,
    DECODER_CHUNKS = 5,
    /// The pixels that are held meanwhile are more than `max_decoded` bytes.
    DECODER_DECODED = 6,
    /// The request is of another version, or makes no sense.
    DECODER_REFUSED = 7,
};

/// Sizes and limits are as in `scopednet_decode_request`.
typedef struct {
    uint64_t magic;
    uint64_t version;
    uint64_t format;
    /// Zero, but in tests.
    uint64_t flags;
    uint64_t file_bytes;
    uint64_t width;
    uint64_t height;
    uint64_t output_width;
    uint64_t output_height;
    uint64_t scale;
    uint64_t max_scans;
    uint64_t max_memory;
    uint64_t max_decoded;
    /// The frames of an animation.
    uint64_t frames;
    /// The bytes of the memory for pixels, where it is the same for each request that has a number here, and stays mapped; else zero.
    uint64_t kept_pixels;
    /// The bytes of the memory for the file, as above; the file is the first `file_bytes` of them.
    uint64_t kept_file;
} decoder_request;

typedef struct {
    uint64_t magic;
    uint64_t version;
    uint64_t status;
    uint64_t output_width;
    uint64_t output_height;
    uint64_t scale;
    /// Text that ends with a zero; empty where there is nothing to say.
    char text[DECODER_TEXT];
} decoder_answer;

/// Flags for tests, in helpers that are compiled with SCOPEDNET_DECODER_TESTING.
enum {
    DECODER_TEST_OPEN = 1,
    DECODER_TEST_LOOP = 2,
    DECODER_TEST_WAIT = 3,
    DECODER_TEST_FAULT = 4,
    DECODER_TEST_ABORT = 5,
    DECODER_TEST_WRONG_SIZE = 6,
    DECODER_TEST_WRONG_MAGIC = 7,
    DECODER_TEST_SHORT_ANSWER = 8,
    DECODER_TEST_KEEP_PIXELS = 9,
    DECODER_TEST_UNKNOWN_STATUS = 10,
    DECODER_TEST_TWO_ANSWERS = 11,
    DECODER_TEST_EXEC_MEMORY = 12,
    DECODER_TEST_SOCKET = 13,
    DECODER_TEST_ALLOCATE = 14,
    DECODER_TEST_HANG_UP = 15,
    DECODER_TEST_LONG_TEXT = 16,
    DECODER_TEST_SEND_DESCRIPTOR = 17,
};

#endif
