// Typed doors to libcurl's variadic functions and function-like macros, which Swift cannot see. Nothing else lives here.
#ifndef SCOPEDNET_CCURL_SHIM_H
#define SCOPEDNET_CCURL_SHIM_H

#include <curl/curl.h>
#include <stdint.h>

#if LIBCURL_VERSION_NUM < 0x075800
#error "ScopedNet needs libcurl 7.88 or newer: Debian 12+, Ubuntu 24.04+ (apt-get install libcurl4-openssl-dev)"
#endif

// The parentheses bypass curl's type-check macros.

// curl_easy_setopt
static inline CURLcode scurl_set_long(CURL *_Nonnull easy, CURLoption option, long value) {
    return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode scurl_set_off(CURL *_Nonnull easy, CURLoption option, curl_off_t value) {
    return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode scurl_set_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
    return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode scurl_set_pointer(CURL *_Nonnull easy, CURLoption option, const void *_Nullable value) {
    return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode scurl_set_list(CURL *_Nonnull easy, CURLoption option, const struct curl_slist *_Nullable value) {
    return (curl_easy_setopt)(easy, option, value);
}
static inline CURLcode scurl_set_url(CURL *_Nonnull easy, CURLU *_Nullable value) {
    return (curl_easy_setopt)(easy, CURLOPT_CURLU, value);
}
static inline CURLcode scurl_set_share(CURL *_Nonnull easy, CURLSH *_Nullable value) {
    return (curl_easy_setopt)(easy, CURLOPT_SHARE, value);
}
/// Copies the bytes: they need not outlive the call.
static inline CURLcode scurl_set_blob(CURL *_Nonnull easy, CURLoption option, const void *_Nonnull bytes, size_t count) {
    struct curl_blob blob = { (void *)bytes, count, CURL_BLOB_COPY };
    return (curl_easy_setopt)(easy, option, &blob);
}

typedef size_t (*scurl_data_callback)(char *_Nullable bytes, size_t size, size_t count, void *_Nullable context);
typedef int (*scurl_seek_callback)(void *_Nullable context, curl_off_t offset, int origin);
typedef int (*scurl_progress_callback)(void *_Nullable context, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal, curl_off_t ulnow);
typedef int (*scurl_prereq_callback)(void *_Nullable context, char *_Nullable primary, char *_Nullable local, int primary_port, int local_port);
typedef curl_socket_t (*scurl_open_callback)(void *_Nullable context, curlsocktype purpose, struct curl_sockaddr *_Nullable address);
typedef int (*scurl_lookup_callback)(void *_Nullable resolver, void *_Nullable reserved, void *_Nullable context);
typedef CURLcode (*scurl_tls_callback)(CURL *_Nullable easy, void *_Nullable tls_context, void *_Nullable context);
typedef int (*scurl_close_callback)(void *_Nullable context, curl_socket_t socket);

static inline CURLcode scurl_set_data_callback(CURL *_Nonnull easy, CURLoption option, scurl_data_callback _Nullable callback) {
    return (curl_easy_setopt)(easy, option, callback);
}
static inline CURLcode scurl_set_seek_callback(CURL *_Nonnull easy, scurl_seek_callback _Nullable callback) {
    return (curl_easy_setopt)(easy, CURLOPT_SEEKFUNCTION, callback);
}
static inline CURLcode scurl_set_progress_callback(CURL *_Nonnull easy, scurl_progress_callback _Nullable callback) {
    return (curl_easy_setopt)(easy, CURLOPT_XFERINFOFUNCTION, callback);
}
static inline CURLcode scurl_set_prereq_callback(CURL *_Nonnull easy, scurl_prereq_callback _Nullable callback) {
    return (curl_easy_setopt)(easy, CURLOPT_PREREQFUNCTION, callback);
}
static inline CURLcode scurl_set_tls_callback(CURL *_Nonnull easy, scurl_tls_callback _Nullable callback) {
    return (curl_easy_setopt)(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}
static inline CURLcode scurl_set_open_callback(CURL *_Nonnull easy, scurl_open_callback _Nullable callback) {
    return (curl_easy_setopt)(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}
static inline CURLcode scurl_set_lookup_callback(CURL *_Nonnull easy, scurl_lookup_callback _Nullable callback) {
    return (curl_easy_setopt)(easy, CURLOPT_RESOLVER_START_FUNCTION, callback);
}
static inline CURLcode scurl_set_close_callback(CURL *_Nonnull easy, scurl_close_callback _Nullable callback) {
    return (curl_easy_setopt)(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

/// The SSL (ssl(7)) of the connection this transfer has at the moment; NULL without TLS, and where libcurl's TLS library is not OpenSSL.
static inline void *_Nullable scurl_openssl_session(CURL *_Nonnull easy) {
    struct curl_tlssessioninfo *info = NULL;
    if ((curl_easy_getinfo)(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info) return NULL;
    return info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}
// curl_easy_getinfo
static inline CURLcode scurl_get_long(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value) {
    return (curl_easy_getinfo)(easy, info, value);
}
static inline CURLcode scurl_get_off(CURL *_Nonnull easy, CURLINFO info, curl_off_t *_Nonnull value) {
    return (curl_easy_getinfo)(easy, info, value);
}
static inline CURLcode scurl_get_socket(CURL *_Nonnull easy, curl_socket_t *_Nonnull value) {
    return (curl_easy_getinfo)(easy, CURLINFO_ACTIVESOCKET, value);
}
static inline CURLcode scurl_get_string(CURL *_Nonnull easy, CURLINFO info, const char *_Nullable *_Nonnull value) {
    return (curl_easy_getinfo)(easy, info, value);
}


// curl_multi_setopt
typedef int (*scurl_socket_callback)(CURL *_Nullable easy, curl_socket_t socket, int what, void *_Nullable context, void *_Nullable socket_context);
typedef int (*scurl_timer_callback)(CURLM *_Nullable multi, long timeout_ms, void *_Nullable context);
static inline CURLMcode scurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return (curl_multi_setopt)(multi, option, value);
}
static inline CURLMcode scurl_multi_set_pointer(CURLM *_Nonnull multi, CURLMoption option, void *_Nullable value) {
    return (curl_multi_setopt)(multi, option, value);
}
static inline CURLMcode scurl_multi_set_socket_callback(CURLM *_Nonnull multi, scurl_socket_callback _Nullable callback) {
    return (curl_multi_setopt)(multi, CURLMOPT_SOCKETFUNCTION, callback);
}
static inline CURLMcode scurl_multi_set_timer_callback(CURLM *_Nonnull multi, scurl_timer_callback _Nullable callback) {
    return (curl_multi_setopt)(multi, CURLMOPT_TIMERFUNCTION, callback);
}

/// Takes the next finished transfer; 0 when there is none. `CURLMsg` holds a union, which is read here.
static inline int scurl_next_finished(CURLM *_Nonnull multi, CURL *_Nullable *_Nonnull easy, CURLcode *_Nonnull result) {
    int left = 0;
    for (;;) {
        CURLMsg *message = curl_multi_info_read(multi, &left);
        if (!message) return 0;
        if (message->msg != CURLMSG_DONE) continue;
        *easy = message->easy_handle;
        *result = message->data.result;
        return 1;
    }
}

// curl_share_setopt
static inline CURLSHcode scurl_share_data(CURLSH *_Nonnull share, int data) {
    return (curl_share_setopt)(share, CURLSHOPT_SHARE, data);
}

// Macros Swift cannot import.
static const long SCURL_GLOBAL_ALL = CURL_GLOBAL_ALL;
static const size_t SCURL_WRITE_PAUSE = CURL_WRITEFUNC_PAUSE;
static const size_t SCURL_READ_PAUSE = CURL_READFUNC_PAUSE;
static const size_t SCURL_READ_ABORT = CURL_READFUNC_ABORT;
static const curl_socket_t SCURL_SOCKET_TIMEOUT = CURL_SOCKET_TIMEOUT;
static const curl_socket_t SCURL_SOCKET_BAD = CURL_SOCKET_BAD;
static const long SCURL_HTTP_VERSION_1_1 = CURL_HTTP_VERSION_1_1;
static const long SCURL_HTTP_VERSION_2TLS = CURL_HTTP_VERSION_2TLS;
static const long SCURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE = CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
static const long SCURL_IPRESOLVE_WHATEVER = CURL_IPRESOLVE_WHATEVER;
static const long SCURL_IPRESOLVE_V4 = CURL_IPRESOLVE_V4;
static const long SCURL_IPRESOLVE_V6 = CURL_IPRESOLVE_V6;
static const long SCURL_AUTH_ANY = (long)CURLAUTH_ANY;
static const long SCURL_AUTH_BASIC = (long)CURLAUTH_BASIC;
static const long SCURL_AUTH_DIGEST = (long)CURLAUTH_DIGEST;
static const long SCURL_AUTH_BASIC_OR_DIGEST = (long)(CURLAUTH_BASIC | CURLAUTH_DIGEST);
static const long SCURL_SSLVERSION_TLSv1_2 = CURL_SSLVERSION_TLSv1_2;
static const long SCURL_SSLVERSION_TLSv1_3 = CURL_SSLVERSION_TLSv1_3;
static const long SCURL_PIPE_MULTIPLEX = CURLPIPE_MULTIPLEX;
static const long SCURL_LOCK_DATA_SSL_SESSION = CURL_LOCK_DATA_SSL_SESSION;
static const int SCURL_LOCK_DATA_SSL = CURL_LOCK_DATA_SSL_SESSION;

#endif
