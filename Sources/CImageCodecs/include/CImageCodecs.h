// JPEG, PNG and WebP over libjpeg-turbo, libpng and libwebp. Nothing of theirs is declared here: without the trait `Images` their
// headers need not be installed, and no function below is defined.
//
// The errors of libjpeg and libpng are jumps (longjmp). None leaves a function of this module, so that no frame of Swift is jumped over.
// Each function may be called from any thread; an object is used by one thread at a time.
#ifndef CIMAGECODECS_H
#define CIMAGECODECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The size of the buffer for the message of an error, which ends with a zero.
#define SCOPEDNET_MESSAGE_SIZE 200

/// The most segments of a JPEG and chunks of a PNG. Each costs as much as some hundred bytes, and may be four or twelve.
#define SCOPEDNET_MOST_CHUNKS 50000
/// The most chunks of a WebP that are no frames: libwebp goes over all of them anew with each piece of the file.
#define SCOPEDNET_MOST_WEBP_CHUNKS 10000

/// The result of a call.
typedef enum {
    SCOPEDNET_CODEC_OK,
    /// The bytes are no picture of their format, or not all of one. The message says more.
    SCOPEDNET_CODEC_DAMAGED,
    /// The flag was raised.
    SCOPEDNET_CODEC_CANCELLED,
    /// More scans than `max_scans`.
    SCOPEDNET_CODEC_SCANS,
    /// More memory than `max_memory`, or than there is.
    SCOPEDNET_CODEC_MEMORY,
    /// More segments or chunks than those above.
    SCOPEDNET_CODEC_CHUNKS,
} scopednet_codec_status;

/// A request to decode a picture whose size is known from its header.
typedef struct {
    const uint8_t *bytes;
    size_t count;
    /// The size that the header has told. A picture of another one is damaged.
    int width;
    int height;
    /// The size that is written to `pixels`.
    int output_width;
    int output_height;
    /// The JPEG is decoded to `scale` eighths; of the PNG, `scale` × `scale` pixels become one. WebP has the output size alone.
    int scale;
    /// The most scans of a JPEG.
    int max_scans;
    /// The most bytes that libjpeg takes for the coefficients of a progressive JPEG.
    size_t max_memory;
    /// `output_width * output_height * 4` bytes: red, green, blue and alpha, not multiplied by alpha.
    uint8_t *pixels;
    /// Decoding ends soon after it is not zero. Another thread may write it, atomically. NULL for a decoding that goes on to its end.
    const volatile int *cancel;
} scopednet_decode_request;

// JPEG

/// A side of `side` pixels at `scale` eighths.
int scopednet_jpeg_scaled(int side, int scale);
scopednet_codec_status scopednet_jpeg_decode(const scopednet_decode_request *request, char *message);

/// The scans of a progressive JPEG that have come so far.
typedef struct scopednet_jpeg_preview scopednet_jpeg_preview;

/// Makes one, or NULL. Of the request, sizes, limits and flag are used; the flag has to outlive it.
scopednet_jpeg_preview *scopednet_jpeg_preview_make(const scopednet_decode_request *request);
/// Reads the scans that are complete in the first `count` bytes of the file, which begin with those of earlier calls; all of them where
/// these are the whole file.
scopednet_codec_status scopednet_jpeg_preview_feed(
    scopednet_jpeg_preview *preview, const uint8_t *bytes, size_t count, bool is_whole, char *message
);
/// The number of scans that were read.
int scopednet_jpeg_preview_scans(const scopednet_jpeg_preview *preview);
/// Draws all scans that were read, at least one, into `output_width * output_height * 4` bytes.
scopednet_codec_status scopednet_jpeg_preview_draw(scopednet_jpeg_preview *preview, uint8_t *pixels, char *message);
/// Succeeds where all of the file was read and nothing of it was wrong: what is drawn then is the picture.
scopednet_codec_status scopednet_jpeg_preview_check_whole(scopednet_jpeg_preview *preview, char *message);
void scopednet_jpeg_preview_free(scopednet_jpeg_preview *preview);

// PNG

scopednet_codec_status scopednet_png_decode(const scopednet_decode_request *request, char *message);

// WebP

/// The kind of a WebP, by its first chunks.
typedef struct {
    int width;
    int height;
    bool is_animated;
    /// True where decoding holds all pixels at their stored size, besides those of the output.
    bool needs_all;
} scopednet_webp_info;

/// Fails where it is damaged, and where it has too many chunks.
scopednet_codec_status scopednet_webp_read_info(const uint8_t *bytes, size_t count, scopednet_webp_info *info, char *message);
scopednet_codec_status scopednet_webp_decode(const scopednet_decode_request *request, char *message);

/// The frames of an animated WebP, from first to last.
typedef struct scopednet_webp_frames scopednet_webp_frames;

/// Makes one before the first frame, or NULL where the file is damaged or there is no memory. The bytes have to outlive it.
scopednet_webp_frames *scopednet_webp_frames_make(const uint8_t *bytes, size_t count, int width, int height, int frames);
/// Draws the next frame over what is there; `pixels` becomes the canvas, which is valid until the next call.
scopednet_codec_status scopednet_webp_frames_next(scopednet_webp_frames *frames, const uint8_t **pixels, char *message);
void scopednet_webp_frames_free(scopednet_webp_frames *frames);

// Encoders

/// A request to encode `width * height * 4` bytes.
typedef struct {
    const uint8_t *pixels;
    int width;
    int height;
    bool is_premultiplied;
    /// From 0 to 100, of JPEG and WebP.
    int quality;
    /// From 0 to 9, of PNG.
    int level;
    /// Of WebP.
    bool is_lossless;
    /// Of JPEG: several scans, each of them finer. All coefficients of the picture are in memory meanwhile.
    bool is_progressive;
    /// The colour beneath transparent pixels, in JPEG: 0xRRGGBB.
    uint32_t background;
} scopednet_encode_request;

/// Bytes of malloc(3). After success the caller frees them; after an error there are none.
typedef struct {
    uint8_t *start;
    size_t count;
    size_t capacity;
} scopednet_bytes;

/// The most pixels of a side.
#define SCOPEDNET_JPEG_SIDE 65500
#define SCOPEDNET_WEBP_SIDE 16383

scopednet_codec_status scopednet_png_encode(const scopednet_encode_request *request, scopednet_bytes *output, char *message);
scopednet_codec_status scopednet_jpeg_encode(const scopednet_encode_request *request, scopednet_bytes *output, char *message);
scopednet_codec_status scopednet_webp_encode(const scopednet_encode_request *request, scopednet_bytes *output, char *message);

#endif
