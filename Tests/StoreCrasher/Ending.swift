import FoundationEssentials
import Glibc
import Persistence

/// Puts eight entries that would not be written for an hour, and ends in order, in the way it is told.
enum Ending {
    /// As a program keeps it that ends without letting it go.
    nonisolated(unsafe) static var kept: Store?  // Safety: written once, before any other thread of the program looks.

    static func run() async {
        var configuration = StoreConfiguration(directory: argument(1))
        configuration.limits.dirtyAge = .seconds(3600)
        let how = argument(2)
        if how == "event" {
            configuration.onEvent = { event in
                guard case .wrote = event, kept != nil else { return }
                putAll()
                exit(0)
            }
        }
        if how == "reader" || how == "hung" { configuration.sealing = EndingSealing(isHung: how == "hung") }
        if how == "scope" {
            let store = Store(configuration)
            putAll(store)
            return
        }
        let store = Store(configuration)
        kept = store
        switch how {
        case "exit":
            putAll()
            exit(0)
        case "return":
            putAll()
        case "task":
            await Task.detached {
                putAll()
                exit(0)
            }.value
        case "thread":
            putAll()
            var thread = pthread_t()
            pthread_create(&thread, nil, { _ in exit(0) }, nil)
            pthread_join(thread, nil)
        case "closing":
            putAll()
            kept = nil
            exit(0)
        case "event":
            store.put(Content.entry(20, version: 1, body: .data(Content.body(20, 1))))
            try? await store.flush()
        case "reader":
            _ = try? await store.putAndFlush(Content.entry(20, version: 1, body: .data(Content.body(20, 1))))
            await store.relieveMemory()
            putAll()
            EndingSealing.endsAtOpening = true
            _ = await store.lookup(EntryKey("key-20", partition: "p2"))
        case "hung":
            putAll()
            exit(0)
        default: fail("unknown: \(how)")
        }
    }

    static func putAll(_ store: Store? = kept) {
        for key in 0..<8 {
            guard store?.put(Content.entry(key, version: 1, body: .data(Content.body(key, 1)))) == .accepted else { fail("put") }
        }
    }
}

/// No secret at all: it ends the process, or waits for ever, where a store calls it.
final class EndingSealing: StoreSealing {
    nonisolated(unsafe) static var endsAtOpening = false  // Safety: written before the store's thread is given the job that reads it.
    private let isHung: Bool

    init(isHung: Bool) { self.isHung = isHung }

    var overhead: Int { 0 }

    func seal(_ text: Data, context: Data) throws(StoreError) -> Data {
        while isHung { pause() }
        return text
    }

    func open(_ sealed: Data, context: Data) throws(StoreError) -> Data {
        if Self.endsAtOpening { exit(0) }
        return sealed
    }

    func hash(_ text: Data) -> Data {
        var words: [UInt64] = [0xCBF2_9CE4_8422_2325, 0x9E37_79B9_7F4A_7C15]
        for byte in text {
            for index in words.indices { words[index] = (words[index] ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        return words.withUnsafeBytes { Data($0) }
    }
}
