// Encoders over libpng, libjpeg-turbo and libwebp, into memory that grows and that the caller takes over.
#ifdef SCOPEDNET_IMAGES
#include "codec.h"

#include <setjmp.h>

#include <jpeglib.h>
#include <jerror.h>
#include <png.h>
#include <webp/encode.h>

// MARK: Memory

/// Makes place for `more` bytes behind those that are there. Returns false where there is no memory for them.
static bool bytes_grow(scopednet_bytes *bytes, size_t more) {
    if (more <= bytes->capacity - bytes->count) return true;
    if (more > SIZE_MAX / 4 || bytes->count > SIZE_MAX / 4) return false;
    size_t wanted = bytes->count + more, doubled = bytes->capacity * 2;
    size_t capacity = wanted > doubled ? wanted : doubled;
    if (capacity < 4096) capacity = 4096;
    uint8_t *start = realloc(bytes->start, capacity);
    if (!start) return false;
    bytes->start = start;
    bytes->capacity = capacity;
    return true;
}

static bool bytes_append(scopednet_bytes *bytes, const uint8_t *start, size_t count) {
    if (!bytes_grow(bytes, count)) return false;
    memcpy(bytes->start + bytes->count, start, count);
    bytes->count += count;
    return true;
}

/// Gives back what is free, or after an error all of it.
static scopednet_codec_status finish(scopednet_codec_status status, scopednet_bytes *output) {
    if (status == SCOPEDNET_CODEC_OK) {
        uint8_t *start = realloc(output->start, output->count > 0 ? output->count : 1);
        if (start) output->start = start;
        output->capacity = output->count;
        return status;
    }
    free(output->start);
    *output = (scopednet_bytes){0};
    return status;
}

/// A job of libpng or libjpeg, which leave it by a jump.
typedef struct {
    const scopednet_encode_request *request;
    scopednet_bytes *output;
    uint8_t *row;
    jmp_buf escape;
    scopednet_codec_status status;
    char *message;
    png_structp png;
    png_infop info;
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
} EncodeJob;

static _Noreturn void leave(EncodeJob *job, scopednet_codec_status status, const char *text) {
    job->status = status;
    codec_say(job->message, text);
    longjmp(job->escape, 1);
}

static scopednet_codec_status run(EncodeJob *job, void (*step)(EncodeJob *job)) {
    if (setjmp(job->escape) == 0) step(job);
    return job->status;
}

static EncodeJob *job_make(const scopednet_encode_request *request, scopednet_bytes *output, char *message) {
    EncodeJob *job = calloc(1, sizeof *job);
    if (!job) return NULL;
    job->row = malloc(codec_row(request->width));
    job->request = request;
    job->output = output;
    job->message = message;
    *output = (scopednet_bytes){0};
    if (job->row) return job;
    free(job);
    return NULL;
}

static scopednet_codec_status job_end(EncodeJob *job) {
    scopednet_codec_status status = finish(job->status, job->output);
    free(job->row);
    free(job);
    return status;
}

// MARK: Rows

static const uint8_t *row_of(const scopednet_encode_request *request, int row) {
    return request->pixels + (size_t)row * codec_row(request->width);
}

/// A row with colours that are not multiplied by alpha: the picture's own, or one made in `output`.
static const uint8_t *straight_row(const scopednet_encode_request *request, int row, uint8_t *output) {
    const uint8_t *pixel = row_of(request, row);
    if (!request->is_premultiplied) return pixel;
    for (int column = 0; column < request->width; column++, pixel += 4) {
        for (int channel = 0; channel < 3; channel++) output[column * 4 + channel] = codec_unmultiplied(pixel[channel], pixel[3]);
        output[column * 4 + 3] = pixel[3];
    }
    return output;
}

/// Red, green and blue of a row over the background.
static void opaque_row(const scopednet_encode_request *request, int row, uint8_t *output) {
    const uint8_t *pixel = row_of(request, row);
    for (int column = 0; column < request->width; column++, pixel += 4) {
        unsigned alpha = pixel[3];
        for (int channel = 0; channel < 3; channel++) {
            unsigned color = request->is_premultiplied ? pixel[channel] : codec_times(pixel[channel], alpha);
            unsigned sum = color + codec_times(request->background >> (16 - 8 * channel) & 255, 255 - alpha);
            *output++ = (uint8_t)(sum > 255 ? 255 : sum);
        }
    }
}

// MARK: PNG

static _Noreturn void png_on_error(png_structp png, png_const_charp text) {
    leave(png_get_error_ptr(png), SCOPEDNET_CODEC_DAMAGED, text);
}

static void png_on_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

static void png_on_write(png_structp png, png_bytep bytes, size_t count) {
    EncodeJob *job = png_get_io_ptr(png);
    if (!bytes_append(job->output, bytes, count)) leave(job, SCOPEDNET_CODEC_MEMORY, "no memory");
}

static void png_on_flush(png_structp png) { (void)png; }

/// True where no pixel shows what is beneath it, so that three bytes a pixel are enough.
static bool is_opaque(const scopednet_encode_request *request) {
    const uint8_t *pixel = request->pixels;
    for (size_t left = (size_t)request->width * (size_t)request->height; left > 0; left--, pixel += 4)
        if (pixel[3] != 255) return false;
    return true;
}

static void png_encode(EncodeJob *job) {
    const scopednet_encode_request *request = job->request;
    job->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, job, png_on_error, png_on_warning);
    job->info = job->png ? png_create_info_struct(job->png) : NULL;
    if (!job->info) leave(job, SCOPEDNET_CODEC_MEMORY, "no memory");
    png_set_write_fn(job->png, job, png_on_write, png_on_flush);
    png_set_user_limits(job->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_compression_level(job->png, request->level);
    bool isOpaque = is_opaque(request);
    png_set_IHDR(
        job->png, job->info, (png_uint_32)request->width, (png_uint_32)request->height, 8,
        isOpaque ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
        PNG_FILTER_TYPE_DEFAULT);
    png_write_info(job->png, job->info);
    if (isOpaque) png_set_filler(job->png, 0, PNG_FILLER_AFTER);
    for (int row = 0; row < request->height; row++) png_write_row(job->png, straight_row(request, row, job->row));
    png_write_end(job->png, NULL);
}

scopednet_codec_status scopednet_png_encode(const scopednet_encode_request *request, scopednet_bytes *output, char *message) {
    EncodeJob *job = job_make(request, output, message);
    if (!job) return SCOPEDNET_CODEC_MEMORY;
    run(job, png_encode);
    png_destroy_write_struct(&job->png, &job->info);
    return job_end(job);
}

// MARK: JPEG

static void jpeg_on_error(j_common_ptr info) {
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    leave(info->client_data, info->err->msg_code == JERR_OUT_OF_MEMORY ? SCOPEDNET_CODEC_MEMORY : SCOPEDNET_CODEC_DAMAGED, text);
}

static void jpeg_on_message(j_common_ptr info, int level) {
    (void)info;
    (void)level;
}

static void jpeg_on_output(j_common_ptr info) { (void)info; }

/// Offers what is free behind the bytes that are there, at least `least` bytes.
static void jpeg_offer(j_compress_ptr info, size_t least) {
    EncodeJob *job = info->client_data;
    if (!bytes_grow(job->output, least)) leave(job, SCOPEDNET_CODEC_MEMORY, "no memory");
    info->dest->next_output_byte = job->output->start + job->output->count;
    info->dest->free_in_buffer = job->output->capacity - job->output->count;
}

static void jpeg_begins(j_compress_ptr info) { jpeg_offer(info, 16 << 10); }

/// All that was offered is full, whatever `free_in_buffer` says (libjpeg.txt, "Compressed data handling").
static boolean jpeg_is_full(j_compress_ptr info) {
    EncodeJob *job = info->client_data;
    job->output->count = job->output->capacity;
    jpeg_offer(info, 16 << 10);
    return TRUE;
}

static void jpeg_ends(j_compress_ptr info) {
    EncodeJob *job = info->client_data;
    job->output->count = job->output->capacity - info->dest->free_in_buffer;
}

static void jpeg_encode(EncodeJob *job) {
    const scopednet_encode_request *request = job->request;
    j_compress_ptr info = &job->jpeg;
    jpeg_create_compress(info);
    info->dest = &job->destination;
    info->image_width = (JDIMENSION)request->width;
    info->image_height = (JDIMENSION)request->height;
    info->input_components = 3;
    info->in_color_space = JCS_RGB;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, request->quality, TRUE);
    if (request->is_progressive) jpeg_simple_progression(info);
    jpeg_start_compress(info, TRUE);
    for (int row = 0; row < request->height; row++) {
        opaque_row(request, row, job->row);
        jpeg_write_scanlines(info, &job->row, 1);
    }
    jpeg_finish_compress(info);
}

scopednet_codec_status scopednet_jpeg_encode(const scopednet_encode_request *request, scopednet_bytes *output, char *message) {
    EncodeJob *job = job_make(request, output, message);
    if (!job) return SCOPEDNET_CODEC_MEMORY;
    job->jpeg.err = jpeg_std_error(&job->errors);
    job->errors.error_exit = jpeg_on_error;
    job->errors.emit_message = jpeg_on_message;
    job->errors.output_message = jpeg_on_output;
    job->jpeg.client_data = job;
    job->destination = (struct jpeg_destination_mgr){
        .init_destination = jpeg_begins, .empty_output_buffer = jpeg_is_full, .term_destination = jpeg_ends,
    };
    run(job, jpeg_encode);
    jpeg_destroy_compress(&job->jpeg);
    return job_end(job);
}

// MARK: WebP

static int webp_on_write(const uint8_t *bytes, size_t count, const WebPPicture *picture) {
    return bytes_append(picture->custom_ptr, bytes, count);
}

/// One word a pixel, alpha first.
static bool webp_import(WebPPicture *picture, const scopednet_encode_request *request) {
    uint8_t *made = malloc(codec_row(request->width));
    if (!made) return false;
    for (int row = 0; row < request->height; row++) {
        const uint8_t *pixel = straight_row(request, row, made);
        uint32_t *words = picture->argb + (size_t)row * (size_t)picture->argb_stride;
        for (int column = 0; column < request->width; column++, pixel += 4)
            words[column] = (uint32_t)pixel[3] << 24 | (uint32_t)pixel[0] << 16 | (uint32_t)pixel[1] << 8 | pixel[2];
    }
    free(made);
    return true;
}

static bool webp_configure(WebPConfig *config, const scopednet_encode_request *request) {
    if (!WebPConfigInit(config)) return false;
    // The effort of the command line's default.
    if (request->is_lossless && !WebPConfigLosslessPreset(config, 6)) return false;
    if (!request->is_lossless) config->quality = (float)request->quality;
    // The colours of transparent pixels stay.
    config->exact = request->is_lossless;
    return WebPValidateConfig(config);
}

scopednet_codec_status scopednet_webp_encode(const scopednet_encode_request *request, scopednet_bytes *output, char *message) {
    WebPConfig config;
    WebPPicture picture;
    *output = (scopednet_bytes){0};
    if (!webp_configure(&config, request) || !WebPPictureInit(&picture)) return SCOPEDNET_CODEC_MEMORY;
    picture.use_argb = 1;
    picture.width = request->width;
    picture.height = request->height;
    picture.writer = webp_on_write;
    picture.custom_ptr = output;
    scopednet_codec_status status = SCOPEDNET_CODEC_MEMORY;
    if (WebPPictureAlloc(&picture) && webp_import(&picture, request)) {
        bool isEncoded = WebPEncode(&config, &picture);
        bool isMemory = picture.error_code == VP8_ENC_ERROR_OUT_OF_MEMORY || picture.error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY
            || picture.error_code == VP8_ENC_ERROR_BAD_WRITE;
        status = isEncoded ? SCOPEDNET_CODEC_OK : isMemory ? SCOPEDNET_CODEC_MEMORY : SCOPEDNET_CODEC_DAMAGED;
        if (status == SCOPEDNET_CODEC_DAMAGED) codec_say(message, "it cannot be encoded");
    }
    WebPPictureFree(&picture);
    return finish(status, output);
}
#endif
