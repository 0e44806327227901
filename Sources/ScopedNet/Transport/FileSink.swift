package import FoundationEssentials
import Glibc

/// A file that receives a body: written beside its destination and moved there in one step on success only (rename(2)), so that
/// an existing file is either the old one or the complete new one.
///
/// Used by one thread at a time: the transport while it receives, the pipeline afterwards.
public final class FileSink: @unchecked Sendable {
    // Safety: `descriptor` and `count` are touched by the transport's thread between head and finish, and by the pipeline
    // after the finish was handed over; never by both at once (contract 3 of `Transport`).
    public let destination: String
    private let temporary: String
    private let calls: FileCalls
    private var descriptor: Int32 = -1
    private(set) var count: Int64 = 0

    package init(destination: String, calls: FileCalls = .system) {
        self.destination = destination
        self.calls = calls
        temporary = Self.stem(destination) + ".scopednet-\(getpid())-\(Identifier.next())"
    }

    deinit { discard() }

    /// A name in the folder of the destination that leaves room for a suffix: 255 bytes are the most (NAME_MAX), 4 a letter at most.
    private static func stem(_ destination: String) -> String {
        let start = destination.lastIndex(of: "/").map(destination.index(after:)) ?? destination.startIndex
        return destination[..<start] + String(String.UnicodeScalarView(destination[start...].unicodeScalars.prefix(48)))
    }

    /// rename(2) replaces devices, FIFOs and sockets, too: for root a download to `/dev/null` would be the end of it.
    private func checkDestination() throws(NetworkError) {
        var status = stat()
        guard stat(destination, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw .file(EISDIR, "cannot replace \(destination)")
        default: throw NetworkError(.fileUnwritable, phase: .receiving, message: "\(destination) is not a regular file")
        }
    }

    private func open() throws(NetworkError) {
        guard descriptor < 0 else { return }
        try checkDestination()
        descriptor = Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        if descriptor < 0 { throw .file(errno, "cannot create \(temporary)") }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(NetworkError) {
        try open()
        var rest = bytes
        while !rest.isEmpty {
            let written = calls.write(descriptor, rest.baseAddress, rest.count)
            if written < 0 {
                if errno == EINTR { continue }
                throw .file(errno, "cannot write \(temporary)")
            }
            // No system does so for a file; a loop without an end would be the worse answer.
            if written == 0 { throw .file(EIO, "cannot write \(temporary)") }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            count += Int64(written)
        }
    }

    package func write(_ data: Data) throws(NetworkError) {
        let result = data.withUnsafeBytes { bytes in Result { () throws(NetworkError) in try write(bytes) } }
        try result.get()
    }

    /// Puts the complete file in its place, content codings undone.
    package func commit(coding: String? = nil, limits: DecodingLimits = .default) throws(NetworkError) {
        try open()
        if let coding, count > 0, let decoder = ContentDecoder.make(for: coding, limits: limits) { try undo(decoder) }
        let closed = calls.close(descriptor)
        descriptor = -1
        guard closed == 0 else {
            // The number is free all the same: close(2) on Linux never leaves it open.
            let code = errno
            unlink(temporary)
            throw .file(code, "cannot finish \(temporary)")
        }
        guard calls.rename(temporary, destination) == 0 else {
            let code = errno
            unlink(temporary)
            throw .file(code, "cannot replace \(destination)")
        }
    }

    /// Decodes into a second file and goes on with that. Servers may send a coding that was not asked for.
    private func undo(_ decoder: ContentDecoder) throws(NetworkError) {
        let coded = Glibc.open(temporary, O_RDONLY | O_CLOEXEC)
        guard coded >= 0 else { throw .file(errno, "cannot read \(temporary)") }
        defer { close(coded) }
        // The coded bytes live on in the open descriptor; the name is free for the decoded ones.
        discard()
        count = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        try open()
        var failure: NetworkError?
        do throws(ContentDecodingError) {
            while true {
                let got = read(coded, buffer.baseAddress, buffer.count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { throw .stopped }
                if got == 0 { break }
                let piece = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<got])
                try decoder.decode(piece) { (decoded: UnsafeRawBufferPointer) throws(ContentDecodingError) in
                    do throws(NetworkError) { try write(decoded) } catch {
                        failure = error
                        throw .stopped
                    }
                }
            }
            try decoder.finish()
        } catch {
            discard()
            throw failure ?? NetworkError(error, requestID: 0, attempt: 1)
        }
    }

    /// Drops what was written. Idempotent.
    package func discard() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
        unlink(temporary)
    }
}

extension NetworkError {
    /// The system would read such a path up to the NUL and take another file.
    static func nulInPath(_ path: String, _ code: Code) -> NetworkError {
        NetworkError(code, phase: .preparing, message: "the path '\(path)' contains a NUL")
    }

    static func file(_ code: Int32, _ what: String) -> NetworkError {
        let text = String(cString: strerror(code))
        return NetworkError(
            code == ENOSPC || code == EDQUOT ? .diskFull : .fileUnwritable, phase: .receiving, message: "\(what): \(text)",
            underlying: SystemError(code: code))
    }
}

/// An `errno` value.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    public let code: Int32
    public var description: String { "errno \(code): \(String(cString: strerror(code)))" }
}
