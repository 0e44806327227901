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

    static let open: scurl_open_callback = { context, _, address in
        guard let context, let address else { return SCURL_SOCKET_BAD }
        let kind = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(address.pointee.family, kind, address.pointee.protocol)
        guard descriptor >= 0 else {
            let code = errno
            Unmanaged<CurlLoop>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.socketError = code }
            return SCURL_SOCKET_BAD
        }
        Unmanaged<CurlLoop>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.opened(descriptor) }
        return descriptor
    }

    /// The context is the transfer: the address guard speaks of its host.
    static let guardedOpen: scurl_open_callback = { context, purpose, address in
        guard let context, let address else { return SCURL_SOCKET_BAD }
        return Unmanaged<CurlEasy>.fromOpaque(context)._withUnsafeGuaranteedRef {
            $0.admits(address) ? open($0.loopContext, purpose, address) : SCURL_SOCKET_BAD
        }
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
