// JPEG over libjpeg-turbo: decoding at eighths of the size, and previews of progressive files (libjpeg.txt, "Buffered-image mode").
#ifdef SCOPEDNET_IMAGES
#include "codec.h"

#include <setjmp.h>

#include <jpeglib.h>
#include <jerror.h>

#ifndef JCS_ALPHA_EXTENSIONS
#error "libjpeg-turbo is needed: the original libjpeg writes no RGBA"
#endif

/// A decompressor with all that its callbacks need, found again by `client_data`.
typedef struct {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_source_mgr source;
    /// Set by the function that runs a step, and used while that runs.
    jmp_buf escape;
    scopednet_decode_request request;
    /// True where a file that goes wrong is drawn as far as it goes, and the first thing that was wrong with it.
    bool is_tolerant;
    int damage;
    scopednet_codec_status status;
    char *message;
    /// Bytes that are to be skipped and have not come yet; for previews.
    size_t skipping;
} JPEGJob;

typedef void (*JPEGStep)(JPEGJob *job);

static JPEGJob *job_of(j_common_ptr info) { return info->client_data; }

static _Noreturn void leave(JPEGJob *job, scopednet_codec_status status, const char *text) {
    job->status = status;
    codec_say(job->message, text);
    longjmp(job->escape, 1);
}

// MARK: Callbacks of libjpeg

static _Noreturn void leave_with_message(j_common_ptr info, scopednet_codec_status status) {
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    leave(job_of(info), status, text);
}

static void on_error(j_common_ptr info) {
    int code = info->err->msg_code;
    // With limited memory libjpeg asks for a file to put the rest into, which there is none of.
    bool isMemory = code == JERR_OUT_OF_MEMORY || code == JERR_NO_BACKING_STORE;
    leave_with_message(info, isMemory ? SCOPEDNET_CODEC_MEMORY : SCOPEDNET_CODEC_DAMAGED);
}

/// Warnings tell of pixels that are missing or made up, which is damage, and of headers that are merely odd.
static void on_message(j_common_ptr info, int level) {
    JPEGJob *job = job_of(info);
    if (level >= 0) return;
    switch (info->err->msg_code) {
    case JWRN_HIT_MARKER: case JWRN_JPEG_EOF: case JWRN_HUFF_BAD_CODE: case JWRN_ARITH_BAD_CODE:
        if (!job->is_tolerant) leave_with_message(info, SCOPEDNET_CODEC_DAMAGED);
        if (!job->damage) job->damage = info->err->msg_code;
        break;
    default: break;
    }
}

static void on_output(j_common_ptr info) { (void)info; }

static void check_progress(JPEGJob *job) {
    if (codec_is_cancelled(job->request.cancel)) leave(job, SCOPEDNET_CODEC_CANCELLED, "cancelled");
    // They were counted before, by other rules than libjpeg's where a file is damaged.
    if (job->info.input_scan_number > job->request.max_scans) leave(job, SCOPEDNET_CODEC_SCANS, "too many scans");
}

static void on_progress(j_common_ptr info) { check_progress(job_of(info)); }

// MARK: Steps

/// Runs a step, and comes back from wherever it fails.
static scopednet_codec_status job_run(JPEGJob *job, JPEGStep step, char *message) {
    job->message = message;
    if (setjmp(job->escape) == 0) step(job);
    job->message = NULL;
    return job->status;
}

static void job_prepare(JPEGJob *job, const scopednet_decode_request *request) {
    job->request = *request;
    job->info.err = jpeg_std_error(&job->errors);
    job->errors.error_exit = on_error;
    job->errors.emit_message = on_message;
    job->errors.output_message = on_output;
    job->info.client_data = job;
}

static void create(JPEGJob *job) {
    jpeg_create_decompress(&job->info);
    job->info.mem->max_memory_to_use = (long)job->request.max_memory;
    job->progress.progress_monitor = on_progress;
    job->info.progress = &job->progress;
}

/// Chooses colours and scale, and compares the sizes with those that the caller has memory for, before libjpeg allocates any of its own.
static void choose_output(JPEGJob *job) {
    j_decompress_ptr info = &job->info;
    const scopednet_decode_request *request = &job->request;
    bool isCMYK = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    info->out_color_space = isCMYK ? JCS_CMYK : JCS_EXT_RGBA;
    info->scale_num = (unsigned)request->scale;
    info->scale_denom = 8;
    jpeg_calc_output_dimensions(info);
    if (info->image_width != (JDIMENSION)request->width || info->image_height != (JDIMENSION)request->height)
        leave(job, SCOPEDNET_CODEC_DAMAGED, "its size is not that of its header");
    if (info->output_width != (JDIMENSION)request->output_width || info->output_height != (JDIMENSION)request->output_height
        || info->output_components != 4)
        leave(job, SCOPEDNET_CODEC_DAMAGED, "it does not decode to the size asked for");
}

/// Ink to light, in place. Adobe's programs store ink inverted, and say so by a marker of theirs.
static void convert_cmyk(uint8_t *row, int width, bool isInverted) {
    for (int column = 0; column < width; column++, row += 4) {
        unsigned flip = isInverted ? 0 : 255, black = row[3] ^ flip;
        for (int channel = 0; channel < 3; channel++) row[channel] = codec_times(row[channel] ^ flip, black);
        row[3] = 255;
    }
}

static void read_rows(JPEGJob *job, uint8_t *pixels) {
    enum { MOST = 8 };
    j_decompress_ptr info = &job->info;
    int width = job->request.output_width;
    while (info->output_scanline < info->output_height) {
        check_progress(job);
        JDIMENSION first = info->output_scanline, left = info->output_height - first, count = left < MOST ? left : MOST;
        JSAMPROW rows[MOST];
        for (JDIMENSION row = 0; row < count; row++) rows[row] = pixels + (first + row) * codec_row(width);
        JDIMENSION read = jpeg_read_scanlines(info, rows, count);
        if (read == 0) leave(job, SCOPEDNET_CODEC_DAMAGED, "its pixels are cut short");
        if (info->out_color_space == JCS_CMYK)
            for (JDIMENSION row = 0; row < read; row++) convert_cmyk(rows[row], width, info->saw_Adobe_marker);
    }
}

// MARK: Markers

/// A walk over the segments of a file that is there from its start.
typedef struct {
    bool has_ended;
    /// Within the pixels of a scan, in contrast to the segments between scans.
    bool is_in_scan;
    /// The offset up to which the file was looked at.
    size_t walked;
    /// The offset behind the marker that ends the last complete scan.
    size_t complete;
    /// The segments that were stepped over, and the scans that have begun.
    int segments;
    int scans;
} Walk;

/// Behind the first marker.
static const Walk walk_start = {.walked = 2};

/// Finds the next marker and steps on to its 0xFF: of several of them the last one. Before a zero it is a byte of pixels. Returns the byte
/// behind it, or -1 where that has not come.
static int next_marker(Walk *walk, const uint8_t *bytes, size_t count) {
    while (walk->walked < count) {
        const uint8_t *found = bytes + walk->walked;
        // Runs of them are stepped over here: they would cost a call for each.
        if (*found != 0xFF) found = memchr(found, 0xFF, count - walk->walked);
        walk->walked = found ? (size_t)(found - bytes) : count;
        if (walk->walked + 1 >= count) return -1;
        if (found[1] != 0xFF && found[1] != 0) return found[1];
        walk->walked += found[1] == 0xFF ? 1 : 2;
    }
    return -1;
}

/// Steps over one segment, or on to the end of a scan (T.81 section B.1.1). As with libjpeg, what is no marker between segments is stepped
/// over.
///
/// Returns false where it takes more bytes, and at the end.
static bool walk_on(Walk *walk, const uint8_t *bytes, size_t count) {
    if (walk->has_ended) return false;
    int marker = next_marker(walk, bytes, count);
    bool isAlone = marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7);
    if (marker < 0) return false;
    if (walk->is_in_scan && isAlone) {
        walk->walked += 2;
        return true;
    }
    if (walk->is_in_scan) walk->complete = walk->walked + 2;
    walk->is_in_scan = false;
    walk->has_ended = marker == 0xD9;
    size_t offset = walk->walked;
    if (walk->has_ended || (!isAlone && offset + 4 > count)) return false;
    walk->walked += 2 + (isAlone ? 0 : (size_t)bytes[offset + 2] << 8 | bytes[offset + 3]);
    walk->is_in_scan = marker == 0xDA;
    walk->scans += walk->is_in_scan;
    walk->segments += 1;
    return true;
}

/// Walks as far as there are bytes, and no further than one scan or one segment more than is allowed.
static void walk_scans(Walk *walk, const uint8_t *bytes, size_t count, int most) {
    while (walk->scans <= most && walk->segments <= SCOPEDNET_MOST_CHUNKS && walk_on(walk, bytes, count)) {}
}

/// A scan of a few bytes goes over all coefficients of a picture, and a segment of four through all of libjpeg's marker reader: too many of
/// them are refused before the first.
static void check_walk(JPEGJob *job, const Walk *walk) {
    if (walk->scans > job->request.max_scans) leave(job, SCOPEDNET_CODEC_SCANS, "too many scans");
    if (walk->segments > SCOPEDNET_MOST_CHUNKS) leave(job, SCOPEDNET_CODEC_CHUNKS, "too many segments");
}

// MARK: The whole picture

static void decode(JPEGJob *job) {
    Walk walk = walk_start;
    walk_scans(&walk, job->request.bytes, job->request.count, job->request.max_scans);
    check_walk(job, &walk);
    create(job);
    jpeg_mem_src(&job->info, job->request.bytes, job->request.count);
    jpeg_read_header(&job->info, TRUE);
    choose_output(job);
    jpeg_start_decompress(&job->info);
    read_rows(job, job->request.pixels);
    // Reads on to the end of the image: a file without it is cut short.
    jpeg_finish_decompress(&job->info);
}

int scopednet_jpeg_scaled(int side, int scale) { return (int)(((int64_t)side * scale + 7) / 8); }

scopednet_codec_status scopednet_jpeg_decode(const scopednet_decode_request *request, char *message) {
    JPEGJob *job = calloc(1, sizeof *job);
    if (!job) return SCOPEDNET_CODEC_MEMORY;
    job_prepare(job, request);
    scopednet_codec_status status = job_run(job, decode, message);
    jpeg_destroy_decompress(&job->info);
    free(job);
    return status;
}

// MARK: Previews

struct scopednet_jpeg_preview {
    JPEGJob job;
    bool has_begun;
    /// The decoder gets nothing behind the last complete scan: one that is half there refines the upper half alone.
    Walk walk;
    /// The offset of the first byte that the decoder has not taken.
    size_t taken;
    int scans;
    uint8_t *pixels;
};

static void source_begins(j_decompress_ptr info) { (void)info; }

/// No more than was given to it: the decoder comes back to the caller.
static boolean source_is_empty(j_decompress_ptr info) {
    (void)info;
    return FALSE;
}

static void source_skips(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    struct jpeg_source_mgr *source = info->src;
    size_t here = (size_t)count < source->bytes_in_buffer ? (size_t)count : source->bytes_in_buffer;
    source->next_input_byte += here;
    source->bytes_in_buffer -= here;
    job_of((j_common_ptr)info)->skipping += (size_t)count - here;
}

static void create_preview(JPEGJob *job) {
    create(job);
    job->source = (struct jpeg_source_mgr){
        .init_source = source_begins, .fill_input_buffer = source_is_empty, .skip_input_data = source_skips,
        .resync_to_restart = jpeg_resync_to_restart, .term_source = source_begins,
    };
    job->info.src = &job->source;
}

scopednet_jpeg_preview *scopednet_jpeg_preview_make(const scopednet_decode_request *request) {
    scopednet_jpeg_preview *preview = calloc(1, sizeof *preview);
    if (!preview) return NULL;
    preview->walk = walk_start;
    preview->job.is_tolerant = true;
    job_prepare(&preview->job, request);
    if (job_run(&preview->job, create_preview, NULL) == SCOPEDNET_CODEC_OK) return preview;
    scopednet_jpeg_preview_free(preview);
    return NULL;
}

void scopednet_jpeg_preview_free(scopednet_jpeg_preview *preview) {
    jpeg_destroy_decompress(&preview->job.info);
    free(preview);
}

int scopednet_jpeg_preview_scans(const scopednet_jpeg_preview *preview) { return preview->scans; }

static scopednet_jpeg_preview *preview_of(JPEGJob *job) { return (scopednet_jpeg_preview *)job; }

/// Takes all bytes that the source has: a picture's header, then its scans into coefficients.
static void consume(JPEGJob *job) {
    scopednet_jpeg_preview *preview = preview_of(job);
    // Before those that came with one too many.
    check_walk(job, &preview->walk);
    j_decompress_ptr info = &job->info;
    if (!preview->has_begun) {
        if (jpeg_read_header(info, TRUE) != JPEG_HEADER_OK) return;
        info->buffered_image = TRUE;
        choose_output(job);
        jpeg_start_decompress(info);
        preview->has_begun = true;
    }
    for (;;) {
        check_progress(job);
        int result = jpeg_consume_input(info);
        if (result == JPEG_SCAN_COMPLETED) preview->scans += 1;
        if (result == JPEG_SUSPENDED || result == JPEG_REACHED_EOI) return;
    }
}

scopednet_codec_status scopednet_jpeg_preview_feed(
    scopednet_jpeg_preview *preview, const uint8_t *bytes, size_t count, bool is_whole, char *message
) {
    JPEGJob *job = &preview->job;
    if (job->status != SCOPEDNET_CODEC_OK) return job->status;
    walk_scans(&preview->walk, bytes, count, job->request.max_scans);
    size_t end = !is_whole && preview->walk.complete < count ? preview->walk.complete : count;
    size_t start = preview->taken + job->skipping;
    if (start >= end) return SCOPEDNET_CODEC_OK;
    job->skipping = 0;
    job->source.next_input_byte = bytes + start;
    job->source.bytes_in_buffer = end - start;
    scopednet_codec_status status = job_run(job, consume, message);
    preview->taken = end - job->source.bytes_in_buffer;
    // The caller's bytes are not looked at before the next call.
    job->source.next_input_byte = NULL;
    job->source.bytes_in_buffer = 0;
    return status;
}

static void draw(JPEGJob *job) {
    j_decompress_ptr info = &job->info;
    // At an eighth of the size a block is one pixel: there is nothing to smooth in it.
    info->do_block_smoothing = job->request.scale > 1;
    jpeg_start_output(info, info->input_scan_number);
    // Smoothing reads two rows ahead of those that it draws, and would wait at the end of this scan for the next one. The number of the
    // scan says only for which one to wait: the coefficients that are there are drawn in any case.
    info->output_scan_number = 0;
    read_rows(job, preview_of(job)->pixels);
    jpeg_finish_output(info);
}

/// The last look at the input: damage that previews put up with is an error now.
static void check_whole(JPEGJob *job) {
    if (job->damage) {
        job->errors.msg_code = job->damage;
        leave_with_message((j_common_ptr)&job->info, SCOPEDNET_CODEC_DAMAGED);
    }
    if (!preview_of(job)->has_begun || !jpeg_input_complete(&job->info)) leave(job, SCOPEDNET_CODEC_DAMAGED, "it is cut short");
}

scopednet_codec_status scopednet_jpeg_preview_check_whole(scopednet_jpeg_preview *preview, char *message) {
    return preview->job.status == SCOPEDNET_CODEC_OK ? job_run(&preview->job, check_whole, message) : preview->job.status;
}

scopednet_codec_status scopednet_jpeg_preview_draw(scopednet_jpeg_preview *preview, uint8_t *pixels, char *message) {
    JPEGJob *job = &preview->job;
    if (job->status != SCOPEDNET_CODEC_OK) return job->status;
    if (preview->scans == 0) return SCOPEDNET_CODEC_DAMAGED;
    preview->pixels = pixels;
    scopednet_codec_status status = job_run(job, draw, message);
    preview->pixels = NULL;
    return status;
}
#endif
