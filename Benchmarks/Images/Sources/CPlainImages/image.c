#include "plain_images.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void plain_trim(void) { malloc_trim(0); }

plain_image plain_image_make(int width, int height) {
    plain_image image = {width, height, malloc((size_t)width * (size_t)height * 4)};
    if (!image.pixels) abort();
    return image;
}

void plain_image_free(plain_image *image) {
    free(image->pixels);
    image->pixels = NULL;
}

plain_image plain_box(const plain_image *image, int side) {
    plain_image result = plain_image_make((image->width - 1) / side + 1, (image->height - 1) / side + 1);
    uint32_t *sums = calloc((size_t)result.width * 4, sizeof *sums);
    if (!sums) abort();
    for (int row = 0; row < result.height; row++) {
        int bottom = (row + 1) * side < image->height ? (row + 1) * side : image->height;
        for (int y = row * side; y < bottom; y++) {
            const uint8_t *pixel = image->pixels + (size_t)y * (size_t)image->width * 4;
            for (int x = 0, box = 0; x < image->width; box++) {
                int end = x + side < image->width ? x + side : image->width;
                for (; x < end; x++, pixel += 4)
                    for (int channel = 0; channel < 4; channel++) sums[box * 4 + channel] += pixel[channel];
            }
        }
        for (int box = 0; box < result.width; box++) {
            int right = (box + 1) * side < image->width ? (box + 1) * side : image->width;
            uint32_t pixels = (uint32_t)((right - box * side) * (bottom - row * side));
            for (int channel = 0; channel < 4; channel++)
                result.pixels[((size_t)row * (size_t)result.width + (size_t)box) * 4 + (size_t)channel] =
                    (uint8_t)((sums[box * 4 + channel] + pixels / 2) / pixels);
        }
        memset(sums, 0, (size_t)result.width * 4 * sizeof *sums);
    }
    free(sums);
    return result;
}

/* The weights of one axis: `reach` of them for each pixel of the result, from its first source pixel on. */
typedef struct {
    int reach;
    int *first;
    float *weights;
} axis;

static axis axis_make(int source, int result) {
    float ratio = (float)source / (float)result, support = ratio > 1 ? ratio : 1;
    axis made = {(int)(2 * support) + 2, malloc((size_t)result * sizeof(int)), NULL};
    made.weights = calloc((size_t)result * (size_t)made.reach, sizeof(float));
    if (!made.first || !made.weights) abort();
    for (int index = 0; index < result; index++) {
        float center = ((float)index + 0.5f) * ratio, sum = 0;
        int first = (int)(center - support + 0.5f), *start = made.first + index;
        float *weights = made.weights + index * made.reach;
        *start = first < 0 ? 0 : first + made.reach > source ? (source > made.reach ? source - made.reach : 0) : first;
        for (int place = 0; place < made.reach && *start + place < source; place++) {
            float weight = 1 - fabsf((float)(*start + place) + 0.5f - center) / support;
            weights[place] = weight > 0 ? weight : 0;
            sum += weights[place];
        }
        for (int place = 0; place < made.reach; place++) weights[place] /= sum;
    }
    return made;
}

static void axis_free(axis *axis) {
    free(axis->first);
    free(axis->weights);
}

plain_image plain_resize(const plain_image *image, int width, int height) {
    plain_image result = plain_image_make(width, height);
    axis columns = axis_make(image->width, width), rows = axis_make(image->height, height);
    float *narrow = calloc((size_t)width * (size_t)image->height * 4, sizeof *narrow);
    if (!narrow) abort();
    for (int y = 0; y < image->height; y++) {
        const uint8_t *source = image->pixels + (size_t)y * (size_t)image->width * 4;
        for (int x = 0; x < width; x++) {
            float *sum = narrow + ((size_t)y * (size_t)width + (size_t)x) * 4;
            for (int place = 0; place < columns.reach && columns.first[x] + place < image->width; place++) {
                const uint8_t *pixel = source + (columns.first[x] + place) * 4;
                float weight = columns.weights[x * columns.reach + place];
                for (int channel = 0; channel < 4; channel++) sum[channel] += weight * pixel[channel];
            }
        }
    }
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            float sum[4] = {0};
            for (int place = 0; place < rows.reach && rows.first[y] + place < image->height; place++) {
                const float *pixel = narrow + ((size_t)(rows.first[y] + place) * (size_t)width + (size_t)x) * 4;
                for (int channel = 0; channel < 4; channel++) sum[channel] += rows.weights[y * rows.reach + place] * pixel[channel];
            }
            uint8_t *pixel = result.pixels + ((size_t)y * (size_t)width + (size_t)x) * 4;
            for (int channel = 0; channel < 4; channel++) pixel[channel] = (uint8_t)(sum[channel] + 0.5f);
        }
    }
    free(narrow);
    axis_free(&columns);
    axis_free(&rows);
    return result;
}
