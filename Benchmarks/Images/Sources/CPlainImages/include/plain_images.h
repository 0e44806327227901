/* Pictures by plain libjpeg-turbo, libpng and libwebp, as a short program in C would have it: what ScopedNetImages is compared with,
 * and where the files of the benchmarks come from. An error of a library ends the process. */
#ifndef SCOPEDNET_BENCH_PLAIN_IMAGES_H
#define SCOPEDNET_BENCH_PLAIN_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Red, green, blue and alpha, row by row. Freed by plain_image_free. */
typedef struct {
    int width, height;
    uint8_t *pixels;
} plain_image;

/* Bytes of malloc(3). */
typedef struct {
    uint8_t *start;
    size_t count;
} plain_bytes;

/* Gives memory that is free back to the kernel, so that growth is seen. */
void plain_trim(void);

plain_image plain_image_make(int width, int height);
void plain_image_free(plain_image *image);

/* Decodes to `eighths` of the size by the scaled DCT. */
plain_image plain_jpeg_decode(const uint8_t *bytes, size_t count, int eighths);
plain_image plain_png_decode(const uint8_t *bytes, size_t count);
/* Decodes to a size; 0 × 0 for that of the file. */
plain_image plain_webp_decode(const uint8_t *bytes, size_t count, int width, int height);

/* The mean of boxes of `side` × `side` pixels. */
plain_image plain_box(const plain_image *image, int side);
/* A triangle filter as wide as two pixels of the result, on one axis after the other. */
plain_image plain_resize(const plain_image *image, int width, int height);

/* A picture with gradients, shapes, a texture in several sizes, and the noise of a sensor. */
plain_image plain_photo(int width, int height);
/* One colour. */
plain_image plain_flat(int width, int height);
plain_bytes plain_jpeg_encode(const plain_image *image, int quality, bool progressive, bool grey);
plain_bytes plain_png_encode(const plain_image *image);
plain_bytes plain_webp_encode(const plain_image *image, int quality);
/* A whole PNG of `side` × `side` black pixels of one bit. */
plain_bytes plain_png_bomb(int side);
uint32_t plain_crc32(const uint8_t *bytes, size_t count);
/* The bytes of a zlib stream of `count` zeros. */
plain_bytes plain_zlib_zeros(size_t count);

#endif
