// The least a store on SQLite has to do, and what a cache with a manifest does: rows to 20 KiB, files beyond, the access time written with
// every hit.
#ifndef C_BARE_STORE_H
#define C_BARE_STORE_H

#include <stddef.h>
#include <stdint.h>

typedef struct bare_store bare_store;

/// `manifest`: 0 for the bare table, 1 for the cache with a manifest. NULL when it cannot be opened.
bare_store *bare_open(const char *folder, int manifest);
void bare_close(bare_store *store);

/// Puts `count` entries, in transactions of `batch`. 0, or SQLite's code.
int bare_put(bare_store *store, int first, int count, int batch, const void *metadata, size_t metadata_size, const void *body, size_t size);

/// Reads `count` entries of `total` in a scattered order, each into memory of its own. The bytes read, or a negative number.
int64_t bare_get(bare_store *store, int total, int count);

#endif
