import FoundationEssentials
import Glibc
import SystemSupport

/// Certificates from where ``SecurityPolicy/PinnedCertificate`` says they are. Blocks on files: never on the network thread.
enum PinFile {
    /// No set of pins is as large; a wrong path may lead to a log of gigabytes.
    static let limit = 4 << 20

    /// - Returns: at least one certificate in DER, not yet looked at.
    static func certificates(_ source: SecurityPolicy.PinnedCertificate) throws(NetworkError) -> [[UInt8]] {
        switch source {
        case .der(let data): return [Array(data)]
        case .pem(let text): return try parse(Array(text.utf8), "the pinned PEM text")
        case .file(let path): return try parse(read(path), path)
        case .directory(let path):
            let names: [String]
            do { names = try FileManager.default.contentsOfDirectory(atPath: path) } catch {
                throw .invalidPin("cannot read the directory of pinned certificates \(path)", error)
            }
            let files = names.filter { name in [".cer", ".crt", ".der", ".pem"].contains { name.lowercased().hasSuffix($0) } }.sorted()
            var found: [[UInt8]] = []
            for name in files { found += try parse(read(path + "/" + name), path + "/" + name) }
            guard !found.isEmpty else { throw .invalidPin("no .cer, .crt, .der or .pem is in \(path)") }
            return found
        }
    }

    private static func parse(_ bytes: [UInt8], _ name: String) throws(NetworkError) -> [[UInt8]] {
        // DER begins with a SEQUENCE, which no text does: `0` alone would be no PEM either.
        if bytes.first == DERReader.Tag.sequence { return [bytes] }
        guard let found = PEMText.certificates(in: bytes), !found.isEmpty else { throw .invalidPin("\(name) holds no certificate") }
        return found
    }

    private static func read(_ path: String) throws(NetworkError) -> [UInt8] {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalidPin("the path of a pinned certificate is empty or holds a NUL") }
        // Opening a FIFO would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadablePin(path, errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= limit {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadablePin(path, errno) }
            guard count > 0 else { return bytes }
            bytes += piece.prefix(count)
        }
        throw .invalidPin("\(path) has more than \(limit) bytes")
    }
}

extension NetworkError {
    static func invalidPin(_ message: String, _ underlying: (any Error)? = nil) -> NetworkError {
        NetworkError(.invalidOption, phase: .preparing, message: "security policy: \(message)", underlying: underlying)
    }

    fileprivate static func unreadablePin(_ path: String, _ code: Int32) -> NetworkError {
        .invalidPin("cannot read \(path): \(SystemFailure.text(of: code))", NetworkError.SystemError(code: code))
    }
}
