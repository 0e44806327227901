/// Where a run's work is right now, as one atomic word, so that a cancel knows what to take back.
///
/// The rule that makes a cancel latched (G5): a stage stores its word, *then* looks at the gate; a cancel shuts the gate, *then* reads the
/// word. One of the two sees the other, and taking back is idempotent.
///
/// The number is that of the exchange in the queue and in the transfer (``TransferID``), and in a wait one of its own: a thread that comes late sees
/// that its stage is over and touches nothing of the next.
package enum RunStage: Equatable, Sendable {
    case idle
    case queued(UInt64)
    case transferring(UInt64)
    case waiting(UInt64)
    case waitingForDisk(UInt64)
    case working
    /// Suspended before it got to the network.
    case parked

    package init(word: UInt64) {
        switch word & 7 {
        case 1: self = .queued(word >> 3)
        case 2: self = .transferring(word >> 3)
        case 3: self = .waiting(word >> 3)
        case 4: self = .working
        case 5: self = .parked
        case 6: self = .waitingForDisk(word >> 3)
        default: self = .idle
        }
    }

    /// Zero where there is none.
    var number: UInt64 { word >> 3 }

    package var word: UInt64 {
        switch self {
        case .idle: 0
        case .queued(let number): number << 3 | 1
        case .transferring(let number): number << 3 | 2
        case .waiting(let number): number << 3 | 3
        case .working: 4
        case .parked: 5
        case .waitingForDisk(let number): number << 3 | 6
        }
    }
}
