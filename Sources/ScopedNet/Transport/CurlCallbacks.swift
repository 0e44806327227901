import CCurl
import Glibc

/// The functions libcurl calls. They capture nothing, throw nothing, and get back to their object here and nowhere else.
///
/// Safety: a `CurlEasy` is kept alive by the loop (`active` or `idle`) until `destroy()` has cleaned its handle up, and the loop by its own
/// thread until the multi handle is cleaned up; so each context pointer outlives every call libcurl can make with it, also
/// those it makes during clean-up.
enum CurlCallbacks {
    static let write: scurl_data_callback = { bytes, size, count, context in
        guard let bytes, let context else { return 0 }
        return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.received(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
    }

    static let header: scurl_data_callback = { bytes, size, count, context in
        guard let bytes, let context else { return 0 }
        return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.receivedHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
    }

    static let read: scurl_data_callback = { bytes, size, count, context in
        guard let bytes, let context else { return SCURL_READ_ABORT }
        return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.upload(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
        }
    }

    static let seek: scurl_seek_callback = { context, offset, origin in
        guard let context else { return CURL_SEEKFUNC_FAIL }
        return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.seekUpload(to: Int64(offset), origin: origin) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
        }
    }

    static let progress: scurl_progress_callback = { context, _, _, total, sent in
        guard let context else { return 1 }
        Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.uploaded(Int64(sent), of: Int64(total)) }
        return 0
    }

    static let beforeRequest: scurl_prereq_callback = { context, remote, local, remotePort, localPort in
        guard let context else { return CURL_PREREQFUNC_ABORT }
        return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.connected(remote, remotePort, local, localPort) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
    }

    static let secure: scurl_tls_callback = { _, tlsContext, context in
        guard let context, let tlsContext else { return CURLE_SSL_CONNECT_ERROR }
        return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.securing(OpaquePointer(tlsContext)) }
    }

    /// A name is about to be looked up that libcurl does not know (CURLOPT_RESOLVER_START_FUNCTION(3)). Anything but 0 ends the transfer.
    static let lookup: scurl_lookup_callback = { _, _, context in
        guard let context else { return 1 }
        return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.loop.lookups.mayBegin($0) ? 0 : 1 }
    }

    /// The name is known, too late for its transfer: no connection is made any more.
    static let refuseOpen: scurl_open_callback = { _, _, _ in SCURL_SOCKET_BAD }

    /// The context is the transfer: a socket is the first sign that its name is known, and the address filter speaks of its host.
    static let open: scurl_open_callback = { context, _, address in
        guard let context, let address else { return SCURL_SOCKET_BAD }
        return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.loop.lookups.ended($0)
            return $0.admits(address) ? openSocket(for: address.pointee, on: $0.loop) : SCURL_SOCKET_BAD
        }
    }

    private static func openSocket(for address: curl_sockaddr, on loop: CurlLoop) -> curl_socket_t {
        let kind = address.socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(address.family, kind, address.protocol)
        guard descriptor >= 0 else {
            loop.socketError = errno
            return SCURL_SOCKET_BAD
        }
        loop.opened(descriptor)
        return descriptor
    }

    static let close: scurl_close_callback = { context, descriptor in
        if let context { Unmanaged<CurlLoop>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.closing(descriptor) } }
        return Glibc.close(descriptor)
    }

    static let socket: scurl_socket_callback = { _, descriptor, what, context, _ in
        if let context { Unmanaged<CurlLoop>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.curlWants(what, on: descriptor) } }
        return 0
    }

    static let timer: scurl_timer_callback = { multi, milliseconds, context in
        if let context {
            Unmanaged<CurlLoop>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.curlWants(timeout: milliseconds, for: multi) }
        }
        return 0
    }
}
