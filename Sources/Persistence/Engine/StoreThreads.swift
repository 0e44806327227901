/// The threads of a store. Each kind of work has its own, so that what takes long holds nothing else up.
struct StoreThreads: Sendable {
    let writer = Worker(name: "store-writer")
    let readers: DiskThreads
    /// For bodies that are files, so that a large one is not in the way of lookups.
    let bodies: DiskThreads
    /// For what takes long by itself, such as reading everything: lookups keep their threads.
    let upkeep = Worker(name: "store-upkeep")

    init(readTimeout: Duration) {
        readers = DiskThreads(name: "store-reader", threads: 2, limit: readTimeout)
        bodies = DiskThreads(name: "store-body", threads: 2, limit: readTimeout)
    }

    /// Takes no job any more, once what the writer was asked for before is done. Returns at once.
    func endAfterWriting() {
        let end: @Sendable () -> Void = { [self] in
            writer.end()
            readers.end()
            bodies.end()
            upkeep.end()
        }
        if !writer.enqueue(end) { end() }
    }
}
