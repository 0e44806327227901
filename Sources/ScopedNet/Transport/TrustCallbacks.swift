import CTLS
import Synchronization

/// The functions OpenSSL calls. They capture nothing, throw nothing, and get back to their ``TrustCheck`` here and nowhere else.
///
/// Safety: `install` gives one reference of the check to the SSL_CTX, in a place whose content is released when the context is freed. Every
/// connection that verifies holds its context, so the check outlives each verification, also one that a server asks for on a pooled connection
/// whose first transfer is long gone. Context and check are used on one network thread.
enum TrustCallbacks {
    private static let knownPlace = Atomic<Int32>(-1)

    /// Negative where OpenSSL has no memory for it; it may have some for the next connection.
    private static var place: Int32 {
        let known = knownPlace.load(ordering: .acquiring)
        if known >= 0 { return known }
        let made = stls_context_place { _, content, _, _, _, _ in
            if let content { Unmanaged<TrustCheck>.fromOpaque(content).release() }
        }
        guard made >= 0 else { return -1 }
        // Of two threads that are here at once one place stays unused.
        let (isOurs, other) = knownPlace.compareExchange(expected: -1, desired: made, ordering: .acquiringAndReleasing)
        return isOurs ? made : other
    }

    private static let verify: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = { verification, content in
        guard let verification, let content else { return 0 }
        return Unmanaged<TrustCheck>.fromOpaque(content)._withUnsafeGuaranteedRef { $0.verify(verification) ? 1 : 0 }
    }

    private static let inform: @convention(c) (OpaquePointer?, Int32, Int32) -> Void = { session, place, value in
        guard let session, stls_is_close_notify(place, value) != 0 else { return }
        withCheck(of: session) { $0.noteCloseNotify() }
    }

    /// The check of a connection, which outlives the connection where it is kept.
    static func check(of session: OpaquePointer) -> TrustCheck? {
        var found: TrustCheck?
        withCheck(of: session) { found = $0 }
        return found
    }

    private static func withCheck(of session: OpaquePointer, _ use: (TrustCheck) -> Void) {
        guard let context = SSL_get_SSL_CTX(session), let content = SSL_CTX_get_ex_data(context, place) else { return }
        Unmanaged<TrustCheck>.fromOpaque(content)._withUnsafeGuaranteedRef(use)
    }

    /// Installs the callbacks of a check in an SSL_CTX.
    ///
    /// With `toleratesCut` a connection that ends without close_notify is taken for one that the peer has closed. Returns false when there
    /// was no memory; the connection must not be made then.
    static func install(_ check: TrustCheck, in context: OpaquePointer, toleratesCut: Bool) -> Bool {
        let place = place
        guard place >= 0 else { return false }
        let content = Unmanaged.passRetained(check)
        guard SSL_CTX_set_ex_data(context, place, content.toOpaque()) == 1 else {
            content.release()
            return false
        }
        SSL_CTX_set_cert_verify_callback(context, verify, content.toOpaque())
        // To tell a connection that was closed from one that was cut (RFC 9112 section 9.8). libcurl 7 takes the one for the other whatever OpenSSL
        // says; to later ones the cut is an error unless OpenSSL is told to take it for the end (SSL_CTX_set_options(3)).
        SSL_CTX_set_info_callback(context, inform)
        if toleratesCut {
            SSL_CTX_set_options(context, STLS_IGNORE_UNEXPECTED_EOF)
        } else {
            SSL_CTX_clear_options(context, STLS_IGNORE_UNEXPECTED_EOF)
        }
        // libcurl switches it off where any certificate is accepted, and a rejection, of its names or of its key, would change nothing
        // (SSL_CTX_set_verify(3)).
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        return true
    }
}
