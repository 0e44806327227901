// Typed doors to the macros of OpenSSL that Swift cannot see. Nothing is decided here.
#ifndef SCOPEDNET_CTLS_SHIM_H
#define SCOPEDNET_CTLS_SHIM_H

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// A place in every SSL_CTX, whose content `release` gets when the context is freed (CRYPTO_get_ex_new_index(3)).
static inline int stls_context_place(CRYPTO_EX_free *_Nonnull release) {
    return SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, release);
}

/// The name this handshake asks for; NULL where the peer is an address (RFC 6066 section 3). Owned by the connection.
static inline const char *_Nullable stls_server_name(X509_STORE_CTX *_Nonnull store) {
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    return ssl ? SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name) : NULL;
}

/// Whether a call of the info callback says that the peer ended the connection by the book (SSL_CTX_set_info_callback(3)).
static inline int stls_is_close_notify(int where, int value) {
    return (where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT && (value & 0xff) == SSL_AD_CLOSE_NOTIFY;
}

// STACK_OF(X509)
static inline STACK_OF(X509) *_Nullable stls_chain_new(void) { return sk_X509_new_null(); }
static inline int stls_chain_count(const STACK_OF(X509) *_Nullable chain) { return sk_X509_num(chain); }
static inline X509 *_Nullable stls_chain_at(const STACK_OF(X509) *_Nullable chain, int index) { return sk_X509_value(chain, index); }
static inline int stls_chain_push(STACK_OF(X509) *_Nonnull chain, X509 *_Nonnull certificate) { return sk_X509_push(chain, certificate); }
/// The certificates, too.
static inline void stls_chain_free(STACK_OF(X509) *_Nonnull chain) { sk_X509_pop_free(chain, X509_free); }

// Macros Swift cannot import.
static const unsigned long STLS_PARTIAL_CHAIN = X509_V_FLAG_PARTIAL_CHAIN;
#ifdef SSL_OP_IGNORE_UNEXPECTED_EOF
static const uint64_t STLS_IGNORE_UNEXPECTED_EOF = SSL_OP_IGNORE_UNEXPECTED_EOF;
#else
// OpenSSL before 3.0 always tells the one from the other.
static const uint64_t STLS_IGNORE_UNEXPECTED_EOF = 0;
#endif
static const unsigned int STLS_NO_PARTIAL_WILDCARDS = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
static const unsigned int STLS_NEVER_CHECK_SUBJECT = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

#endif
