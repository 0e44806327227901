// PNG over libpng, row by row: all types and depths to eight bits each of red, green, blue and alpha (libpng-manual.txt, section III).
#ifdef SCOPEDNET_IMAGES
#include "codec.h"

#include <setjmp.h>

#include <png.h>

typedef struct {
    png_structp png;
    png_infop info;
    jmp_buf escape;
    const scopednet_decode_request *request;
    size_t offset;
    /// True while the last row is made, and from when on all of its bytes are there; and the bytes that were read since.
    bool is_last_row;
    bool has_pixels;
    size_t behind;
    /// A row at its stored width, and the sums of the boxes of a row that is written; only where the picture is made smaller.
    uint8_t *row;
    uint64_t *sums;
    scopednet_codec_status status;
    char *message;
} PNGJob;

static _Noreturn void leave(PNGJob *job, scopednet_codec_status status, const char *text) {
    job->status = status;
    codec_say(job->message, text);
    longjmp(job->escape, 1);
}

static _Noreturn void on_error(png_structp png, png_const_charp text) {
    leave(png_get_error_ptr(png), SCOPEDNET_CODEC_DAMAGED, text);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text;
}

static void on_read(png_structp png, png_bytep output, size_t count) {
    PNGJob *job = png_get_io_ptr(png);
    if (count > job->request->count - job->offset) png_error(png, "it is cut short");
    // For the last row libpng inflates whatever is left of the pixels, to throw it away: a megabyte may be a gigabyte of it.
    enum { MOST_BEHIND = 16 << 10 };
    if (job->is_last_row && job->has_pixels && (job->behind += count) > MOST_BEHIND) png_error(png, "it has more pixels than rows");
    memcpy(output, job->request->bytes + job->offset, count);
    job->offset += count;
}

static void check_cancel(PNGJob *job) {
    if (codec_is_cancelled(job->request->cancel)) leave(job, SCOPEDNET_CODEC_CANCELLED, "cancelled");
}

// MARK: Header

static uint32_t word(const uint8_t *bytes) { return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]; }

/// The number of chunks is judged before any is read; where they end too early, the decoder finds out.
static void check_chunks(PNGJob *job) {
    enum { HEAD = 8, FRAME = 12 };
    const uint8_t *bytes = job->request->bytes;
    size_t count = job->request->count, offset = HEAD;
    for (int chunks = 0; offset < count && count - offset >= FRAME; chunks++) {
        if (chunks == SCOPEDNET_MOST_CHUNKS) leave(job, SCOPEDNET_CODEC_CHUNKS, "too many chunks");
        size_t length = word(bytes + offset);
        if (memcmp(bytes + offset + 4, "IEND", 4) == 0 || length > count - offset - FRAME) return;
        offset += FRAME + length;
    }
}

/// Limits of libpng itself. Chunks that are not needed are stepped over: none of them is kept, and none is inflated. All checksums count.
static void limit(PNGJob *job) {
    png_set_user_limits(job->png, (png_uint_32)job->request->width, (png_uint_32)job->request->height);
    png_set_chunk_malloc_max(job->png, 1 << 20);
    png_set_chunk_cache_max(job->png, 16);
    png_set_keep_unknown_chunks(job->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_crc_action(job->png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
}

/// Comes between the bytes of a row and the search for the end of all pixels. It changes nothing.
static void on_row(png_structp png, png_row_infop row, png_bytep bytes) {
    (void)row;
    (void)bytes;
    PNGJob *job = png_get_io_ptr(png);
    job->has_pixels |= job->is_last_row;
}

static void transform(PNGJob *job) {
    png_set_read_user_transform_fn(job->png, on_row);
    png_set_expand(job->png);
    png_set_scale_16(job->png);
    png_set_gray_to_rgb(job->png);
    png_set_add_alpha(job->png, 0xFF, PNG_FILLER_AFTER);
}

static void open_picture(PNGJob *job) {
    job->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, job, on_error, on_warning);
    job->info = job->png ? png_create_info_struct(job->png) : NULL;
    if (!job->info) leave(job, SCOPEDNET_CODEC_MEMORY, "no memory");
    limit(job);
    png_set_read_fn(job->png, job, on_read);
    png_read_info(job->png, job->info);
    if (png_get_image_width(job->png, job->info) != (png_uint_32)job->request->width
        || png_get_image_height(job->png, job->info) != (png_uint_32)job->request->height)
        leave(job, SCOPEDNET_CODEC_DAMAGED, "its size is not that of its header");
    transform(job);
}

// MARK: Rows

static void read_row(PNGJob *job, uint8_t *output, bool isLast) {
    job->is_last_row = isLast;
    png_read_row(job->png, output, NULL);
    job->is_last_row = false;
}

/// At the size stored. The passes of an interlaced picture are drawn one over the other.
static void read_rows(PNGJob *job, int passes) {
    const scopednet_decode_request *request = job->request;
    if (request->output_width != request->width || request->output_height != request->height)
        leave(job, SCOPEDNET_CODEC_DAMAGED, "it does not decode to the size asked for");
    // The last pass of an interlaced picture is of each second row, and may be without the last one.
    job->has_pixels = passes > 1 && request->height % 2 == 1;
    for (int pass = 0; pass < passes; pass++) {
        for (int row = 0; row < request->height; row++) {
            check_cancel(job);
            uint8_t *output = request->pixels + (size_t)row * codec_row(request->width);
            read_row(job, output, pass + 1 == passes && row + 1 == request->height);
        }
    }
}

/// The column behind the last one of a box.
static int box_end(const scopednet_decode_request *request, int start) {
    return request->width - start < request->scale ? request->width : start + request->scale;
}

/// Adds a row to the sums of its boxes. A colour counts by its alpha: what is transparent has none.
static void add_row(PNGJob *job) {
    const scopednet_decode_request *request = job->request;
    const uint8_t *pixel = job->row;
    for (int box = 0; box < request->output_width; box++) {
        uint64_t *sum = job->sums + (size_t)box * 4;
        int start = box * request->scale, end = box_end(request, start);
        for (int column = start; column < end; column++, pixel += 4) {
            unsigned alpha = pixel[3];
            for (int channel = 0; channel < 3; channel++) sum[channel] += pixel[channel] * alpha;
            sum[3] += alpha;
        }
    }
}

/// Writes the means of `rows` rows of boxes, and begins anew.
static void write_means(PNGJob *job, int rows, uint8_t *output) {
    const scopednet_decode_request *request = job->request;
    for (int box = 0; box < request->output_width; box++, output += 4) {
        uint64_t *sum = job->sums + (size_t)box * 4, alpha = sum[3];
        int start = box * request->scale;
        uint64_t pixels = (uint64_t)rows * (uint64_t)(box_end(request, start) - start);
        for (int channel = 0; channel < 3; channel++) output[channel] = alpha ? (uint8_t)((sum[channel] + alpha / 2) / alpha) : 0;
        output[3] = (uint8_t)((alpha + pixels / 2) / pixels);
        memset(sum, 0, 4 * sizeof *sum);
    }
}

/// Each box of `scale` × `scale` pixels becomes one, so that memory is needed for one row besides the result.
static void read_boxes(PNGJob *job) {
    const scopednet_decode_request *request = job->request;
    int box = request->scale, height = request->height;
    if (request->output_width != (request->width - 1) / box + 1 || request->output_height != (height - 1) / box + 1)
        leave(job, SCOPEDNET_CODEC_DAMAGED, "it does not decode to the size asked for");
    job->row = malloc(codec_row(request->width));
    job->sums = calloc((size_t)request->output_width * 4, sizeof *job->sums);
    if (!job->row || !job->sums) leave(job, SCOPEDNET_CODEC_MEMORY, "no memory");
    uint8_t *output = request->pixels;
    for (int row = 0, held = 0; row < height; row++) {
        check_cancel(job);
        read_row(job, job->row, row + 1 == height);
        add_row(job);
        if (++held < box && row + 1 < height) continue;
        write_means(job, held, output);
        output += codec_row(request->output_width);
        held = 0;
    }
}

static void decode(PNGJob *job) {
    check_chunks(job);
    open_picture(job);
    int passes = png_set_interlace_handling(job->png);
    png_read_update_info(job->png, job->info);
    if (png_get_rowbytes(job->png, job->info) != codec_row(job->request->width))
        leave(job, SCOPEDNET_CODEC_DAMAGED, "its rows are not of the size asked for");
    if (job->request->scale <= 1) read_rows(job, passes);
    else if (passes == 1) read_boxes(job);
    else leave(job, SCOPEDNET_CODEC_DAMAGED, "it is interlaced, and decodes to its own size alone");
    // A file without its end is cut short.
    png_read_end(job->png, NULL);
}

static scopednet_codec_status run(PNGJob *job) {
    if (setjmp(job->escape) == 0) decode(job);
    return job->status;
}

scopednet_codec_status scopednet_png_decode(const scopednet_decode_request *request, char *message) {
    PNGJob *job = calloc(1, sizeof *job);
    if (!job) return SCOPEDNET_CODEC_MEMORY;
    job->request = request;
    job->message = message;
    scopednet_codec_status status = run(job);
    png_destroy_read_struct(&job->png, &job->info, NULL);
    free(job->row);
    free(job->sums);
    free(job);
    return status;
}
#endif
