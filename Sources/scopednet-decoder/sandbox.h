// The limits under which pictures are decoded.
#ifndef SCOPEDNET_DECODER_SANDBOX_H
#define SCOPEDNET_DECODER_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/// Closes all descriptors but the first four, and sets limits that last for the life of the process.
///
/// `memory` is the most address space, in bytes. Returns false where a limit cannot be set.
bool sandbox_limit(uint64_t memory);

/// Allows the system calls that decoding takes, and no other from here on: each of those kills the process by SIGSYS. Returns false where
/// the kernel has no such filters.
bool sandbox_filter(void);

#endif
