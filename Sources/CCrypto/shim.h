// Typed wrappers of the macros and variadic functions of libcrypto that Swift cannot see. Nothing is decided here.
#ifndef SCOPEDNET_CCRYPTO_SHIM_H
#define SCOPEDNET_CCRYPTO_SHIM_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// A new key on the curve P-256.
static inline EVP_PKEY *_Nullable scry_p256_key(void) { return EVP_EC_gen("P-256"); }

/// The bytes of a memory BIO, which stay its own (BIO_s_mem(3)).
static inline long scry_bio_contents(BIO *_Nonnull bio, char *_Nullable *_Nonnull bytes) { return BIO_get_mem_data(bio, bytes); }

/// An extension in the words of x509v3_config(5); `issuer` is nil for a certificate that signs itself.
static inline X509_EXTENSION *_Nullable scry_extension(X509 *_Nonnull certificate, X509 *_Nullable issuer, int nid, const char *_Nonnull value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer ? issuer : certificate, certificate, NULL, NULL, 0);
    return X509V3_EXT_conf_nid(NULL, &context, nid, value);
}

// STACK_OF(GENERAL_NAME)
static inline GENERAL_NAMES *_Nullable scry_names_new(void) { return sk_GENERAL_NAME_new_null(); }
static inline int scry_names_push(GENERAL_NAMES *_Nonnull names, GENERAL_NAME *_Nonnull name) { return sk_GENERAL_NAME_push(names, name); }
/// The names, too.
static inline void scry_names_free(GENERAL_NAMES *_Nonnull names) { sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free); }

// Macros Swift cannot import.
// RFC 2253, with letters beyond ASCII as they are.
static const unsigned long SCRY_NAME_RFC2253 = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;

#endif
