// Helpers of all codecs.
#ifndef SCOPEDNET_CODEC_H
#define SCOPEDNET_CODEC_H

#include "CImageCodecs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A copy of a message, cut where it is too long.
static inline void codec_say(char *message, const char *text) {
    if (message) snprintf(message, SCOPEDNET_MESSAGE_SIZE, "%s", text);
}

static inline bool codec_is_cancelled(const volatile int *flag) { return flag && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0; }

static inline size_t codec_row(int width) { return (size_t)width * 4; }

/// The product of two bytes, as a part of 255, rounded.
static inline uint8_t codec_times(unsigned left, unsigned right) {
    unsigned product = left * right + 128;
    return (uint8_t)((product + (product >> 8)) >> 8);
}

/// A colour that was multiplied by alpha.
static inline uint8_t codec_unmultiplied(unsigned color, unsigned alpha) {
    if (alpha == 0) return 0;
    unsigned value = (color * 255 + alpha / 2) / alpha;
    return (uint8_t)(value > 255 ? 255 : value);
}

#endif
