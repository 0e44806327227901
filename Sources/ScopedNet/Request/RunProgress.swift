/// The furthest step of a run's present attempt (pure), for the error of a cancelled one.
enum RunProgress: UInt8, Sendable {
    case unsent, sent, headReceived, decoding, decoded

    /// The word after a step. What is decoded out of a cache was never sent, and no server knows of it.
    func after(_ step: RunProgress) -> RunProgress { self == .unsent && step != .sent ? .unsent : step }

    var phase: NetworkError.Phase {
        switch self {
        case .unsent: .queued
        case .sent: .awaitingResponse
        case .headReceived: .receiving
        case .decoding: .decoding
        case .decoded: .delivering
        }
    }
}
