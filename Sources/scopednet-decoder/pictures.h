// A picture of each format, of one pixel.
#ifndef SCOPEDNET_DECODER_PICTURES_H
#define SCOPEDNET_DECODER_PICTURES_H

#include <stdbool.h>

/// Decodes each of them, so that the dynamic linker and the codecs have done what they do once. Returns false where one fails.
bool pictures_decode(void);

#endif
