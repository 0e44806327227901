// Faults of a helper, for tests. None of this is compiled without SCOPEDNET_DECODER_TESTING.
#ifndef SCOPEDNET_DECODER_MISBEHAVIOR_H
#define SCOPEDNET_DECODER_MISBEHAVIOR_H

#include "protocol.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef SCOPEDNET_DECODER_TESTING
/// Does what the request's flags ask for before it is served.
void misbehave_before(const decoder_request *request);
/// Changes an answer, or sends one of its own. Returns the bytes of the answer to send.
size_t misbehave_after(const decoder_request *request, decoder_answer *answer);
/// True where the pixels stay mapped after the answer.
bool misbehave_keeps_pixels(const decoder_request *request);
#else
static inline void misbehave_before(const decoder_request *request) { (void)request; }
static inline size_t misbehave_after(const decoder_request *request, decoder_answer *answer) {
    (void)request;
    return sizeof *answer;
}
static inline bool misbehave_keeps_pixels(const decoder_request *request) {
    (void)request;
    return false;
}
#endif

#endif
