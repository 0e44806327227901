#include "plain_images.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>
#include <zlib.h>

// MARK: Pixels

static uint32_t scramble(uint32_t value) {
    value = (value ^ value >> 16) * 0x7feb352dU;
    value = (value ^ value >> 15) * 0x846ca68bU;
    return value ^ value >> 16;
}

/* -1 to 1 at a point of a grid. */
static float grain(int x, int y, uint32_t seed) {
    return (float)(scramble((uint32_t)x * 0x9e3779b9U ^ scramble((uint32_t)y ^ seed)) & 0xFFFF) / 32768 - 1;
}

/* Noise that is smooth between the points of a grid. */
static float noise(int x, int y, int step, uint32_t seed) {
    int column = x / step, row = y / step;
    float right = (float)(x % step) / (float)step, below = (float)(y % step) / (float)step;
    float upper = grain(column, row, seed) * (1 - right) + grain(column + 1, row, seed) * right;
    float lower = grain(column, row + 1, seed) * (1 - right) + grain(column + 1, row + 1, seed) * right;
    return upper * (1 - below) + lower * below;
}

static uint8_t clamp(float value) { return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value; }

plain_image plain_photo(int width, int height) {
    plain_image image = plain_image_make(width, height);
    uint8_t *pixel = image.pixels;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++, pixel += 4) {
            float across = (float)x / (float)width, down = (float)y / (float)height;
            float texture = 40 * noise(x, y, 256, 1) + 20 * noise(x, y, 48, 2) + 10 * noise(x, y, 9, 3);
            /* Discs on a grid, and a fence. */
            int cell = x / 400 + y / 400 * 16, dx = x % 400 - 200, dy = y % 400 - 200, radius = 60 + cell * 37 % 120;
            float shape = dx * dx + dy * dy < radius * radius ? 50 * grain(cell, 0, 4) : 0;
            if (y > height * 3 / 4 && x % 90 < 12) shape -= 45;
            float sensor = 13 * grain(x, y, 5);
            pixel[0] = clamp(60 + 130 * across + texture + shape + sensor);
            pixel[1] = clamp(90 + 90 * down + texture * 0.8f + shape * 0.6f + sensor);
            pixel[2] = clamp(200 - 140 * down + texture * 0.5f - shape * 0.4f + sensor);
            pixel[3] = 255;
        }
    }
    return image;
}

plain_image plain_flat(int width, int height) {
    plain_image image = plain_image_make(width, height);
    memset(image.pixels, 0x80, (size_t)width * (size_t)height * 4);
    return image;
}

// MARK: Files

plain_bytes plain_jpeg_encode(const plain_image *image, int quality, bool progressive, bool grey) {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    unsigned char *start = NULL;
    unsigned long count = 0;
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &start, &count);
    info.image_width = (JDIMENSION)image->width;
    info.image_height = (JDIMENSION)image->height;
    info.input_components = 4;
    info.in_color_space = JCS_EXT_RGBA;
    jpeg_set_defaults(&info);
    if (grey) jpeg_set_colorspace(&info, JCS_GRAYSCALE);
    jpeg_set_quality(&info, quality, TRUE);
    if (progressive) jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    while (info.next_scanline < info.image_height) {
        JSAMPROW row = image->pixels + (size_t)info.next_scanline * info.image_width * 4;
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    return (plain_bytes){start, count};
}

static void append(png_structp png, png_bytep more, size_t count) {
    plain_bytes *bytes = png_get_io_ptr(png);
    uint8_t *start = realloc(bytes->start, bytes->count + count);
    if (!start) abort();
    memcpy(start + bytes->count, more, count);
    *bytes = (plain_bytes){start, bytes->count + count};
}

static void flush(png_structp png) { (void)png; }

static plain_bytes encode_png(int width, int height, int depth, int color, const plain_image *image) {
    plain_bytes bytes = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    if (!info || setjmp(png_jmpbuf(png))) abort();
    png_set_write_fn(png, &bytes, append, flush);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, depth, color, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 4);
    png_write_info(png, info);
    if (image) png_set_filler(png, 0, PNG_FILLER_AFTER);
    uint8_t *black = calloc((size_t)width, 4);
    for (int row = 0; row < height; row++)
        png_write_row(png, image ? image->pixels + (size_t)row * (size_t)width * 4 : black);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    free(black);
    return bytes;
}

plain_bytes plain_png_encode(const plain_image *image) {
    return encode_png(image->width, image->height, 8, PNG_COLOR_TYPE_RGB, image);
}

plain_bytes plain_png_bomb(int side) { return encode_png(side, side, 1, PNG_COLOR_TYPE_GRAY, NULL); }

plain_bytes plain_webp_encode(const plain_image *image, int quality) {
    WebPConfig config;
    WebPPicture picture;
    WebPMemoryWriter writer;
    if (!WebPConfigInit(&config) || !WebPPictureInit(&picture)) abort();
    config.quality = (float)quality;
    config.method = 2;
    picture.width = image->width;
    picture.height = image->height;
    WebPMemoryWriterInit(&writer);
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
    if (!WebPPictureImportRGBX(&picture, image->pixels, image->width * 4) || !WebPEncode(&config, &picture)) abort();
    WebPPictureFree(&picture);
    return (plain_bytes){writer.mem, writer.size};
}

plain_bytes plain_zlib_zeros(size_t count) {
    uint8_t *zeros = calloc(1 << 20, 1);
    z_stream stream = {0};
    plain_bytes bytes = {malloc(count / 500 + 4096), 0};
    if (!zeros || !bytes.start || deflateInit(&stream, 9) != Z_OK) abort();
    stream.next_out = bytes.start;
    stream.avail_out = (uInt)(count / 500 + 4096);
    for (size_t left = count; left > 0;) {
        stream.next_in = zeros;
        stream.avail_in = (uInt)(left < 1 << 20 ? left : 1 << 20);
        left -= stream.avail_in;
        if (deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH) == Z_STREAM_ERROR) abort();
    }
    bytes.count = stream.total_out;
    deflateEnd(&stream);
    free(zeros);
    return bytes;
}

uint32_t plain_crc32(const uint8_t *bytes, size_t count) { return (uint32_t)crc32_z(0, bytes, count); }
