// WebP over libwebp: pictures at any smaller size, and the frames of animations one after the other.
#ifdef SCOPEDNET_IMAGES
#include "codec.h"

#include <webp/decode.h>
#include <webp/demux.h>

static uint32_t word(const uint8_t *bytes) { return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24; }

/// False where there are too many chunks before the pixels.
static bool has_few_chunks(const uint8_t *bytes, size_t count) {
    enum { START = 12, HEAD = 8 };
    size_t offset = START;
    for (int chunks = 0; offset < count && count - offset >= HEAD; chunks++) {
        const uint8_t *name = bytes + offset;
        if (memcmp(name, "VP8 ", 4) == 0 || memcmp(name, "VP8L", 4) == 0 || memcmp(name, "ANMF", 4) == 0) return true;
        if (chunks == SCOPEDNET_MOST_WEBP_CHUNKS) return false;
        size_t length = word(name + 4);
        if (length > count - offset - HEAD) return true;
        offset += HEAD + length + length % 2;
    }
    return true;
}

scopednet_codec_status scopednet_webp_read_info(const uint8_t *bytes, size_t count, scopednet_webp_info *info, char *message) {
    WebPBitstreamFeatures features;
    if (!has_few_chunks(bytes, count)) return SCOPEDNET_CODEC_CHUNKS;
    if (WebPGetFeatures(bytes, count, &features) != VP8_STATUS_OK) {
        codec_say(message, "its first chunks are no picture");
        return SCOPEDNET_CODEC_DAMAGED;
    }
    *info = (scopednet_webp_info){
        .width = features.width, .height = features.height, .is_animated = features.has_animation,
        // Lossless pixels, which alpha may be as well, are held until the last one is read.
        .needs_all = features.format != 1 || features.has_alpha,
    };
    return SCOPEDNET_CODEC_OK;
}

static scopednet_codec_status say(VP8StatusCode code, char *message) {
    switch (code) {
    case VP8_STATUS_OK: return SCOPEDNET_CODEC_OK;
    case VP8_STATUS_OUT_OF_MEMORY: return SCOPEDNET_CODEC_MEMORY;
    case VP8_STATUS_SUSPENDED: case VP8_STATUS_NOT_ENOUGH_DATA: codec_say(message, "it is cut short"); break;
    case VP8_STATUS_UNSUPPORTED_FEATURE: codec_say(message, "it has a feature that is unknown"); break;
    default: codec_say(message, "its bitstream has an error"); break;
    }
    return SCOPEDNET_CODEC_DAMAGED;
}

/// Gives the decoder the file in pieces, and looks at the flag between them.
static scopednet_codec_status update(WebPIDecoder *decoder, const scopednet_decode_request *request, char *message) {
    enum { PIECE = 16 << 10 };
    VP8StatusCode code = VP8_STATUS_SUSPENDED;
    for (size_t end = 0; end < request->count && code == VP8_STATUS_SUSPENDED;) {
        if (codec_is_cancelled(request->cancel)) return SCOPEDNET_CODEC_CANCELLED;
        end = request->count - end < PIECE ? request->count : end + PIECE;
        code = WebPIUpdate(decoder, request->bytes, end);
    }
    return say(code, message);
}

static void configure(WebPDecoderConfig *config, const scopednet_decode_request *request) {
    config->options.use_scaling = request->output_width != request->width || request->output_height != request->height;
    config->options.scaled_width = request->output_width;
    config->options.scaled_height = request->output_height;
    config->output.colorspace = MODE_RGBA;
    config->output.is_external_memory = 1;
    config->output.u.RGBA.rgba = request->pixels;
    config->output.u.RGBA.stride = (int)codec_row(request->output_width);
    config->output.u.RGBA.size = codec_row(request->output_width) * (size_t)request->output_height;
}

/// True where the file is as long as its container says (RFC 9649 section 2.3).
static bool is_whole(const uint8_t *bytes, size_t count) {
    if (count < 12 || memcmp(bytes, "RIFF", 4) != 0) return false;
    return word(bytes + 4) <= count - 8;
}

scopednet_codec_status scopednet_webp_decode(const scopednet_decode_request *request, char *message) {
    WebPDecoderConfig config;
    scopednet_webp_info info;
    if (!WebPInitDecoderConfig(&config)) return SCOPEDNET_CODEC_MEMORY;
    if (!is_whole(request->bytes, request->count)) return say(VP8_STATUS_NOT_ENOUGH_DATA, message);
    scopednet_codec_status read = scopednet_webp_read_info(request->bytes, request->count, &info, message);
    if (read != SCOPEDNET_CODEC_OK) return read;
    if (info.width != request->width || info.height != request->height) {
        codec_say(message, "its size is not that of its header");
        return SCOPEDNET_CODEC_DAMAGED;
    }
    configure(&config, request);
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, &config);
    if (!decoder) return SCOPEDNET_CODEC_MEMORY;
    scopednet_codec_status status = update(decoder, request, message);
    WebPIDelete(decoder);
    WebPFreeDecBuffer(&config.output);
    return status;
}

// MARK: Animations

struct scopednet_webp_frames {
    WebPAnimDecoder *decoder;
};

scopednet_webp_frames *scopednet_webp_frames_make(const uint8_t *bytes, size_t count, int width, int height, int frames) {
    WebPAnimDecoderOptions options;
    WebPAnimInfo info;
    scopednet_webp_frames *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    if (is_whole(bytes, count) && WebPAnimDecoderOptionsInit(&options)) {
        options.color_mode = MODE_RGBA;
        WebPData data = {bytes, count};
        made->decoder = WebPAnimDecoderNew(&data, &options);
    }
    bool isRight = made->decoder && WebPAnimDecoderGetInfo(made->decoder, &info) && info.canvas_width == (uint32_t)width
        && info.canvas_height == (uint32_t)height && info.frame_count == (uint32_t)frames;
    if (isRight) return made;
    scopednet_webp_frames_free(made);
    return NULL;
}

scopednet_codec_status scopednet_webp_frames_next(scopednet_webp_frames *frames, const uint8_t **pixels, char *message) {
    uint8_t *canvas = NULL;
    int milliseconds = 0;
    if (!WebPAnimDecoderGetNext(frames->decoder, &canvas, &milliseconds)) return say(VP8_STATUS_BITSTREAM_ERROR, message);
    *pixels = canvas;
    return SCOPEDNET_CODEC_OK;
}

void scopednet_webp_frames_free(scopednet_webp_frames *frames) {
    WebPAnimDecoderDelete(frames->decoder);
    free(frames);
}
#endif
