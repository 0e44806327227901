internal import Glibc

/// Memory that nothing in the process points to any more: cycles of objects, above all. Asked of the address sanitizer, in builds that have
/// it (`swift test --sanitize=address`); elsewhere nothing is checked and nothing is found.
public enum UnreachableHeap {
    private typealias Check = @convention(c) () -> CInt

    /// The sanitizer's own function, where the process has one.
    private static let function: Check? = {
        guard let symbol = dlsym(nil, "__lsan_do_recoverable_leak_check") else { return nil }
        // Safety: the name belongs to the sanitizer, whose header declares `int __lsan_do_recoverable_leak_check(void)`.
        return unsafeBitCast(symbol, to: Check.self)
    }()

    /// Whether this process can tell.
    public static var isChecked: Bool { function != nil }

    /// True when there is unreachable memory; the sanitizer prints what and where from to the standard error. Costs milliseconds, and a pause of
    /// all threads.
    public static func hasLeaks() -> Bool { function.map { $0() != 0 } ?? false }
}
