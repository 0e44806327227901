// scopednet-decoder: decodes JPEG, PNG and WebP for another process, one picture at a time, with no access to anything else.
//
// `IsolatedDecoder` of ScopedNetImages starts it, with a socket at descriptor 3 and the most bytes of address space as the one argument.
// It ends when the other end of the socket is closed.
#ifdef SCOPEDNET_IMAGES
#define _GNU_SOURCE
#include "misbehavior.h"
#include "pictures.h"
#include "protocol.h"
#include "sandbox.h"

#include "CImageCodecs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(DECODER_TEXT >= SCOPEDNET_MESSAGE_SIZE, "an answer holds each message of a codec");
_Static_assert(
    DECODER_OK == (int)SCOPEDNET_CODEC_OK && DECODER_CHUNKS == (int)SCOPEDNET_CODEC_CHUNKS, "the statuses of codecs are those of answers"
);

/// The files of a request: the picture, and the memory for its pixels.
typedef struct {
    int picture;
    int pixels;
} Files;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/// The search for leaks at the end takes system calls that are not allowed.
const char *__asan_default_options(void) { return "detect_leaks=0:symbolize=0:handle_segv=0:handle_abort=0"; }
#endif
#endif

// MARK: Messages

/// Reads a request. Returns false where there will be none, or where what came is not one: the helper is of no use then.
static bool receive(decoder_request *request, Files *files) {
    union {
        char bytes[CMSG_SPACE(sizeof(Files))];
        struct cmsghdr header;
    } control = {0};
    struct iovec piece = {request, sizeof *request};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t count;
    do count = recvmsg(DECODER_SOCKET, &message, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (count != sizeof *request || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || !header) return false;
    if (header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(Files))) return false;
    memcpy(files, CMSG_DATA(header), sizeof *files);
    return true;
}

static bool send_answer(const decoder_answer *answer, size_t size) {
    struct iovec piece = {(void *)answer, size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    ssize_t count;
    do count = sendmsg(DECODER_SOCKET, &message, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    return count == (ssize_t)size;
}

static void say(decoder_answer *answer, uint64_t status, const char *text) {
    answer->status = status;
    snprintf(answer->text, sizeof answer->text, "%s", text);
}

// MARK: Decoding

/// True where no side and no product of sides overflows.
static bool makes_sense(const decoder_request *request) {
    const uint64_t sides[] = {request->width, request->height, request->output_width, request->output_height};
    for (size_t index = 0; index < sizeof sides / sizeof *sides; index++)
        if (sides[index] == 0 || sides[index] > INT_MAX / 4) return false;
    return request->magic == DECODER_MAGIC && request->version == DECODER_VERSION && request->file_bytes > 0
        && request->output_width <= SIZE_MAX / 4 / request->output_height && request->width <= SIZE_MAX / 4 / request->height
        && request->scale <= INT_MAX && request->frames <= INT_MAX;
}

static scopednet_decode_request codec_request(const decoder_request *request, const uint8_t *bytes, uint8_t *pixels) {
    return (scopednet_decode_request){
        .bytes = bytes, .count = request->file_bytes, .pixels = pixels, .scale = (int)request->scale,
        .width = (int)request->width, .height = (int)request->height,
        .output_width = (int)request->output_width, .output_height = (int)request->output_height,
        .max_scans = request->max_scans > INT_MAX ? INT_MAX : (int)request->max_scans, .max_memory = request->max_memory,
    };
}

/// A picture that is no animation. Lossless pixels are held at their stored size, and count by it.
static void decode_webp(const decoder_request *request, const scopednet_decode_request *codec, decoder_answer *answer) {
    scopednet_webp_info info;
    answer->status = scopednet_webp_read_info(codec->bytes, codec->count, &info, answer->text);
    if (answer->status != DECODER_OK) return;
    if (info.is_animated) {
        say(answer, DECODER_DAMAGED, "it is an animation, and its header is not that of one");
    } else if (info.needs_all && request->width * request->height > request->max_decoded / 4) {
        say(answer, DECODER_DECODED, "its pixels take more memory than is allowed");
    } else {
        answer->status = scopednet_webp_decode(codec, answer->text);
    }
}

/// The first frame, at the size of the canvas.
static void decode_animation(const decoder_request *request, const scopednet_decode_request *codec, decoder_answer *answer) {
    if (codec->output_width != codec->width || codec->output_height != codec->height) {
        say(answer, DECODER_REFUSED, "a frame has the size of its canvas");
        return;
    }
    scopednet_webp_frames *frames =
        scopednet_webp_frames_make(codec->bytes, codec->count, codec->width, codec->height, (int)request->frames);
    if (!frames) {
        say(answer, DECODER_DAMAGED, "its frames are not those of its container");
        return;
    }
    const uint8_t *canvas = NULL;
    answer->status = scopednet_webp_frames_next(frames, &canvas, answer->text);
    if (answer->status == DECODER_OK) memcpy(codec->pixels, canvas, (size_t)codec->width * (size_t)codec->height * 4);
    scopednet_webp_frames_free(frames);
}

static void decode(const decoder_request *request, const uint8_t *bytes, uint8_t *pixels, decoder_answer *answer) {
    scopednet_decode_request codec = codec_request(request, bytes, pixels);
    switch (request->format) {
    case DECODER_JPEG: answer->status = scopednet_jpeg_decode(&codec, answer->text); break;
    case DECODER_PNG: answer->status = scopednet_png_decode(&codec, answer->text); break;
    case DECODER_WEBP: decode_webp(request, &codec, answer); break;
    case DECODER_WEBP_ANIMATION: decode_animation(request, &codec, answer); break;
    default: say(answer, DECODER_REFUSED, "an unknown format"); break;
    }
}

/// Memory that stays mapped from one request to the next: a fault on each of its pages takes longer than what is done with it.
typedef struct {
    uint8_t *start;
    size_t size;
} Kept;

static Kept kept_file, kept_pixels;

static size_t pixels_size(const decoder_request *request) { return (size_t)(request->output_width * request->output_height * 4); }

/// Returns memory of `size` bytes, of which a request needs the first `needed`, or MAP_FAILED.
static uint8_t *map_kept(Kept *kept, uint64_t size, uint64_t needed, int protection, int descriptor) {
    if (size < needed) return MAP_FAILED;
    if (size == kept->size) return kept->start;
    uint8_t *start = mmap(NULL, size, protection, MAP_SHARED, descriptor, 0);
    if (start == MAP_FAILED) return start;
    if (kept->start) munmap(kept->start, kept->size);
    *kept = (Kept){start, size};
    return start;
}

static uint8_t *map_file(const decoder_request *request, int descriptor) {
    if (request->kept_file) return map_kept(&kept_file, request->kept_file, request->file_bytes, PROT_READ, descriptor);
    return mmap(NULL, request->file_bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor, 0);
}

static uint8_t *map_pixels(const decoder_request *request, int descriptor) {
    size_t size = pixels_size(request);
    if (request->kept_pixels) return map_kept(&kept_pixels, request->kept_pixels, size, PROT_READ | PROT_WRITE, descriptor);
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
}

/// Maps both files, and decodes from one to the other. Neither can become shorter: the program has sealed them.
static void serve(const decoder_request *request, Files files, decoder_answer *answer) {
    uint8_t *bytes = map_file(request, files.picture);
    uint8_t *pixels = map_pixels(request, files.pixels);
    if (bytes == MAP_FAILED || pixels == MAP_FAILED) {
        say(answer, DECODER_MEMORY, "no memory");
    } else {
        misbehave_before(request);
        decode(request, bytes, pixels, answer);
    }
    if (bytes != MAP_FAILED && !request->kept_file) munmap(bytes, request->file_bytes);
    // Not mapped when the answer comes: the program seals the pixels against further writes then, and refuses them where it cannot.
    if (pixels != MAP_FAILED && !request->kept_pixels && !misbehave_keeps_pixels(request)) munmap(pixels, pixels_size(request));
}

static void answer_request(const decoder_request *request, Files files) {
    decoder_answer answer = {
        .magic = DECODER_MAGIC, .version = DECODER_VERSION, .output_width = request->output_width,
        .output_height = request->output_height, .scale = request->scale,
    };
    if (makes_sense(request)) serve(request, files, &answer);
    else say(&answer, DECODER_REFUSED, "a request of another version");
    close(files.picture);
    close(files.pixels);
    size_t size = misbehave_after(request, &answer);
    if (!send_answer(&answer, size)) _exit(0);
}

int main(int count, char **arguments) {
    uint64_t memory = count == 2 ? strtoull(arguments[1], NULL, 10) : 0;
    if (memory == 0) {
        fputs("scopednet-decoder is started by ScopedNetImages, with a socket at descriptor 3.\n", stderr);
        return DECODER_EXIT_USAGE;
    }
    if (!sandbox_limit(memory)) return DECODER_EXIT_NO_LIMITS;
    if (!pictures_decode()) return DECODER_EXIT_UNAVAILABLE;
    if (!sandbox_filter()) return DECODER_EXIT_NO_FILTER;
    decoder_request request;
    Files files;
    while (receive(&request, &files)) answer_request(&request, files);
    _exit(0);
}
#else
#include "protocol.h"

#include <stdio.h>

int main(void) {
    fputs("scopednet-decoder was built without its codecs: build it with the package trait Images.\n", stderr);
    return DECODER_EXIT_UNAVAILABLE;
}
#endif
