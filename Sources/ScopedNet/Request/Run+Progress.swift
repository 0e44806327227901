extension Run {
    /// The progress of one body of a request, in wire bytes.
    public struct Progress: Sendable, Hashable {
        /// The way that a body goes.
        public enum Direction: Sendable, Hashable {
            /// The body of the request.
            case sending
            /// The body of the response.
            case receiving
        }

        /// The way that this body goes.
        public let direction: Direction
        /// The bytes so far; of a resumed download those of the file.
        public let bytes: Int64
        /// Nil where the length is not known.
        public let total: Int64?
        /// The mean of the last four seconds; nil in the first tenth of a second.
        public let bytesPerSecond: Double?

        /// 0 to 1; nil where the length is not known.
        public var fraction: Double? { TransferProgress(completed: bytes, total: total).fraction }

        /// The time the rest takes at this rate; nil where length or rate are not known, or nothing moves.
        public var timeLeft: Duration? {
            guard let total, let bytesPerSecond, bytesPerSecond > 0 else { return nil }
            return .seconds(min(Double(max(0, total - bytes)) / bytesPerSecond, 1e12))
        }
    }
}

extension Run.Progress: CustomStringConvertible {
    /// One line for people: `received 1.6 MiB of 10 MiB, 800 KiB/s, 11 s left`.
    public var description: String {
        var text = "\(direction == .sending ? "sent" : "received") \(HumanText.bytes(bytes))"
        if let total { text += " of \(HumanText.bytes(total))" }
        if let bytesPerSecond { text += ", \(HumanText.bytes(Int64(max(0, min(bytesPerSecond, 1e18)))))/s" }
        if let timeLeft, timeLeft > .zero { text += ", \(HumanText.time(timeLeft)) left" }
        return text
    }
}
