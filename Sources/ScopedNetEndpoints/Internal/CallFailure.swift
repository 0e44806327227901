/// The failure of one call, as a group of calls, a poll or a query gets it.
struct CallFailure<Failure: Error>: Error {
    let error: Failure
    /// True where the call was cancelled, whoever did that: it is nobody's failure.
    let isCancelled: Bool
}
