#include "plain_images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>

plain_image plain_jpeg_decode(const uint8_t *bytes, size_t count, int eighths) {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    info.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, bytes, count);
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_EXT_RGBA;
    info.scale_num = (unsigned)eighths;
    info.scale_denom = 8;
    jpeg_start_decompress(&info);
    plain_image image = plain_image_make((int)info.output_width, (int)info.output_height);
    while (info.output_scanline < info.output_height) {
        JSAMPROW row = image.pixels + (size_t)info.output_scanline * info.output_width * 4;
        jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
    return image;
}

typedef struct {
    const uint8_t *bytes;
    size_t left;
} png_source;

static void read_png(png_structp png, png_bytep output, size_t count) {
    png_source *source = png_get_io_ptr(png);
    if (count > source->left) png_error(png, "cut short");
    memcpy(output, source->bytes, count);
    source->bytes += count;
    source->left -= count;
}

plain_image plain_png_decode(const uint8_t *bytes, size_t count) {
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    if (!info || setjmp(png_jmpbuf(png))) abort();
    png_source source = {bytes, count};
    png_set_read_fn(png, &source, read_png);
    png_read_info(png, info);
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    plain_image image = plain_image_make((int)png_get_image_width(png, info), (int)png_get_image_height(png, info));
    for (int pass = 0; pass < passes; pass++)
        for (int row = 0; row < image.height; row++) png_read_row(png, image.pixels + (size_t)row * (size_t)image.width * 4, NULL);
    png_read_end(png, NULL);
    png_destroy_read_struct(&png, &info, NULL);
    return image;
}

plain_image plain_webp_decode(const uint8_t *bytes, size_t count, int width, int height) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config) || WebPGetFeatures(bytes, count, &config.input) != VP8_STATUS_OK) abort();
    config.options.use_scaling = width > 0;
    config.options.scaled_width = width;
    config.options.scaled_height = height;
    plain_image image = plain_image_make(width > 0 ? width : config.input.width, height > 0 ? height : config.input.height);
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = (WebPRGBABuffer){
        image.pixels, image.width * 4, (size_t)image.width * (size_t)image.height * 4,
    };
    if (WebPDecode(bytes, count, &config) != VP8_STATUS_OK) abort();
    return image;
}
