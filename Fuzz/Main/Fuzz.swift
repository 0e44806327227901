import CFuzzer
import FuzzTargets
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

private let target: Target = {
    let name = getenv("SCOPEDNET_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    if let target = targets[name] { return target }
    print("SCOPEDNET_FUZZ_TARGET must be one of: \(targets.keys.sorted().joined(separator: " "))")
    exit(2)
}()
