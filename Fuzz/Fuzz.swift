import CFuzzer
import Glibc

/// Hands the process to libFuzzer. SCOPEDNET_FUZZ_TARGET names the target of ``targets``; the arguments are libFuzzer's.
@main struct Fuzz {
    static func main() {
        _ = target
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(
            LLVMFuzzerRunDriver(&count, &arguments) { start, count in
                target(UnsafeRawBufferPointer(start: start, count: count))
                return 0
            })
    }
}

typealias Target = @Sendable (UnsafeRawBufferPointer) -> Void

/// What is fed with input, and what must hold for any input. A broken promise traps, which libFuzzer reports with the input.
let targets: [String: Target] = [
    "head": fuzzResponseHead,
    "coding": fuzzContentCoding,
    "url": fuzzURL,
    "date": fuzzDates,
    "shell": fuzzShellWord,
    "mask": fuzzSecretMask,
    "proxy": fuzzProxyEnvironment,
    "redirect": fuzzRedirect,
    "field": fuzzRequestFields,
    "query": fuzzQuery,
    "multipart": fuzzMultipart,
    "cookie": fuzzCookie,
    "challenge": fuzzChallenge,
    "type": fuzzMediaType,
    "charset": fuzzCharset,
    "cache": fuzzCachedHead,
    "control": fuzzCacheControl,
    "vary": fuzzVary,
    "fresh": fuzzFreshness,
    "range": fuzzRanges,
    "stored": fuzzStoredResponse,
    "netlink": fuzzNetlink,
    "inet6": fuzzInet6,
    "resolv": fuzzResolverFile,
    "target": fuzzTarget,
]

private let target: Target = {
    let name = getenv("SCOPEDNET_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    if let target = targets[name] { return target }
    print("SCOPEDNET_FUZZ_TARGET must be one of: \(targets.keys.sorted().joined(separator: " "))")
    exit(2)
}()

func check(_ holds: Bool, _ promise: @autoclosure () -> String) {
    if !holds { fatalError(promise()) }
}

extension UnsafeRawBufferPointer {
    var text: String { String(decoding: self, as: UTF8.self) }

    /// The first byte decides, the rest is the input.
    var split: (choice: Int, rest: UnsafeRawBufferPointer)? {
        guard let first else { return nil }
        return (Int(first), UnsafeRawBufferPointer(rebasing: dropFirst()))
    }
}
