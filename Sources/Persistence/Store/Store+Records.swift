import FoundationEssentials

extension Store {
    /// Changes the records of a namespace in one transaction, on the writer thread: what is asked of the store later comes after it, and so does
    /// the flush when the process ends.
    ///
    /// - Parameters:
    ///   - namespace: that of the records.
    ///   - change: called when it is the change's turn, on a thread of the store, with a function that reads what is stored (nil when it
    ///     cannot be read). Not called where there is no disk.
    ///   - completion: called once, on a thread of the store or on this one.
    package func changeRecords(
        in namespace: String, _ change: @escaping @Sendable (_ stored: () -> [StoreRecord]?) -> RecordChange,
        then completion: @escaping @Sendable (StoreError?) -> Void
    ) {
        let now = engine.clocks.wall()
        write { (database) throws(DatabaseFailure) in
            let change = change { try? database.records(in: namespace, name: nil, now: now) }
            try database.write(change, in: namespace)
        } then: { result in
            if case .failure(let error) = result { completion(error) } else { completion(nil) }
        }
    }

    /// Stores records, all or none; others of the same names are replaced.
    ///
    /// - Throws: when they are not on disk: `unavailable`, `diskFull`, `closed`. Unlike an entry, a record that is lost is missed.
    public func setRecords(_ records: [StoreRecord], in namespace: String) async throws(StoreError) {
        try await writing { (database) throws(DatabaseFailure) in try database.write(records, in: namespace) }
    }

    /// A record is waited for longer than an entry, which is only a miss without the disk.
    private static var recordTimeout: Duration { .seconds(10) }

    /// A record that has not expired.
    public func record(_ name: String, in namespace: String) async throws(StoreError) -> StoreRecord? {
        let now = engine.clocks.wall()
        return try await reading(within: Self.recordTimeout) { (database) throws(DatabaseFailure) in
            try database.records(in: namespace, name: name, now: now).first
        }
    }

    /// All records of a namespace that have not expired, by name.
    public func records(in namespace: String) async throws(StoreError) -> [StoreRecord] {
        let now = engine.clocks.wall()
        return try await reading(within: Self.recordTimeout) { (database) throws(DatabaseFailure) in
            try database.records(in: namespace, name: nil, now: now)
        }
    }

    /// Removes records by name; all of the namespace when `names` is nil.
    public func removeRecords(_ names: [String]? = nil, in namespace: String) async throws(StoreError) {
        try await writing { (database) throws(DatabaseFailure) in try database.removeRecords(names, in: namespace) }
    }

    /// Removes the records that have expired, of all namespaces.
    public func removeExpiredRecords() async throws(StoreError) {
        let now = engine.clocks.wall()
        try await writing { (database) throws(DatabaseFailure) in try database.removeRecords(expiredBefore: now) }
    }
}
