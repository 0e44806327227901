#if Images
import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import ScopedNetImages

/// The helper of this build, the files of `Fixtures/Codecs`, and the faults that a helper for tests simulates.
enum IsolationSamples {
    typealias S = CodecSamples

    /// The flags of `protocol.h`.
    enum Fault: UInt64, CaseIterable, Sendable {
        case open = 1
        case loop, wait, memoryFault, abort, wrongSize, wrongMagic, shortAnswer, keepPixels, unknownStatus, twoAnswers
        case executableMemory, socket, allocate, hangUp, longText, sendDescriptor
    }

    /// Beside the program that runs the tests.
    static let helperPath: String = {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink("/proc/self/exe", $0.assumingMemoryBound(to: CChar.self), bytes.count) } ?? 0
        }
        let program = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return program[...(program.lastIndex(of: "/") ?? program.startIndex)] + "scopednet-decoder"
    }()

    /// Simulated faults are compiled in debug builds alone.
    static var hasFaults: Bool {
        #if DEBUG
        true
        #else
        false
        #endif
    }

    /// True under the address sanitizer, which answers faults by itself and limits no memory.
    static var isSanitized: Bool { dlsym(nil, "__asan_init") != nil }

    static func configuration(_ fault: Fault? = nil) -> IsolatedDecoder.Configuration {
        var configuration = IsolatedDecoder.Configuration()
        configuration.helperPath = helperPath
        configuration.misbehavior = fault?.rawValue ?? 0
        return configuration
    }

    static func decoder(_ fault: Fault? = nil) -> IsolatedDecoder { IsolatedDecoder(configuration(fault)) }

    static let files: [String] = {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures/Codecs")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { name in [".jpg", ".png", ".webp"].contains { name.hasSuffix($0) } }.sorted()
    }()

    // MARK: Decoding

    static func decode(
        _ data: Data, by decoder: IsolatedDecoder, size: PixelSize? = nil, limits: ImageLimits = .standard,
        cancellation: DecodingCancellation? = nil
    ) throws -> DecodedImage {
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true, limits: limits) else {
            throw ImageError.unknownFormat
        }
        let options = ImageDecodingOptions(size: size, limits: limits)
        return try decoder.decode(data, header: header, options: options, cancellation: cancellation)
    }

    /// A picture to compare, or the error that there is in place of it.
    struct Result: Hashable {
        var size: PixelSize?
        var pixels: [UInt8] = []
        var error: ImageError?
    }

    static func result(_ body: () throws -> DecodedImage) throws -> Result {
        do {
            let image = try body()
            return Result(size: PixelSize(width: image.width, height: image.height), pixels: image.withPixels { Array($0) })
        } catch let error as ImageError {
            return Result(error: error)
        }
    }

    // MARK: Processes and descriptors

    /// The helpers that are children of this process, zombies as well.
    static func helpers() -> [pid_t] {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        let children = tasks.flatMap { task in text("/proc/self/task/\(task)/children").split(separator: " ").compactMap { pid_t($0) } }
        return children.filter { text("/proc/\($0)/stat").contains("(scopednet-decod") }
    }

    /// Our ends of the sockets of helpers: nothing else in this process has sockets of that kind, and other suites open and close sockets beside this one.
    static func helperSockets() -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { Int32($0) }.count { descriptor in
            var (kind, size) = (Int32(0), socklen_t(4))
            return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == Int32(SOCK_SEQPACKET.rawValue)
        }
    }

    /// The descriptors of this process, by what they are of.
    static func descriptors() -> [String: Int] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let targets = names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        return Dictionary(targets.map { ($0.hasPrefix("/memfd:") ? "memfd" : String($0.prefix { $0 != ":" }), 1) }, uniquingKeysWith: +)
    }

    /// The pieces of shared memory that this process has open, by the number of each.
    static func memoryFiles() -> Set<UInt> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return Set(
            names.compactMap { name in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                var status = stat()
                guard let target, target.hasPrefix("/memfd:scopednet-picture"), let number = Int32(name) else { return nil }
                return fstat(number, &status) == 0 ? UInt(status.st_ino) : nil
            })
    }

    /// The start of a file of /proc, whose size is not known before it is read.
    static func text(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).replacing("\n", with: " ")
    }

    /// A program of one line of shell, which is gone with the closure.
    static func withScript(_ line: String, mode: mode_t = 0o755, _ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "scopednet-fake-\(getpid())-\(UInt64.random(in: 0 ... .max))")
            .path
        try Data(line.utf8).write(to: URL(filePath: path))
        chmod(path, mode)
        defer { unlink(path) }
        try body(path)
    }
}

/// The suites of isolated decoding, one test at a time: they count processes and descriptors.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(3))) enum IsolationTests {}
#endif
