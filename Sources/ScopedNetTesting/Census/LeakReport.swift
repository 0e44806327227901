@_spi(Census) import ScopedNet

/// The objects that a ``LeakCensus`` found alive.
public struct LeakReport: Sendable, CustomStringConvertible {
    /// A kind of object that is counted.
    public enum Kind: String, CaseIterable, Sendable {
        /// An object that a program makes and holds.
        case request, run, operation, bag, session, imageReceipt
        /// An object that a session makes: a transport, one exchange of it, a handle of libcurl, a body that is streamed, a deadline that has not
        /// passed yet, the check of a certificate, and the memory of a decoded picture.
        case transport, transfer, easyHandle, bodyStream, timer, trustCheck, imageBuffer

        init(_ kind: LiveObjects.Kind) {
            self =
                switch kind {
                case .request: .request
                case .run: .run
                case .operation: .operation
                case .bag: .bag
                case .session: .session
                case .transport: .transport
                case .transfer: .transfer
                case .easyHandle: .easyHandle
                case .bodyStream: .bodyStream
                case .timer: .timer
                case .trustCheck: .trustCheck
                case .imageReceipt: .imageReceipt
                case .imageBuffer: .imageBuffer
                }
        }
    }

    /// One object that is alive.
    public struct Leak: Sendable, CustomStringConvertible {
        /// What is to be done about it. New ones may be added; keep a default when you switch.
        public enum Verdict: String, Sendable {
            /// A run or an operation whose work goes on: it was neither finished nor cancelled.
            case inFlight = "in flight"
            /// A run or an operation that is over, and that the test or the code under test still holds.
            case endedButReferenced = "ended, but referenced by you"
            /// A run or an operation that is over, and that ScopedNet has not let go: a defect of the library.
            case endedButInTables = "ended, but still in our tables; please report this"
            /// A request, bag, session or stream that somebody holds.
            case referenced = "referenced by you"
            /// The same, and a run in flight is among the holders.
            case heldByRun = "held by what is in flight"
        }

        /// The kind of object.
        public let kind: Kind
        /// Unique in the process; other leaks name it as their holder.
        public let number: UInt64
        /// The advice.
        public let verdict: Verdict
        /// `File.swift:12`, where it was made or started.
        public let origin: String
        /// The time since it was made or started.
        public let age: Duration
        /// Label, URL, stage: what it says about itself.
        public let details: String
        /// Who is known to hold it.
        public let holders: [String]
        /// The closures it holds, as `onSuccess at File.swift:12`: what they capture stays alive with it.
        public let closures: [String]
        /// The holders of other objects that it stands for.
        let holds: [LeakHolder]

        /// Several lines: verdict, details, origin, and its holders and closures.
        public var description: String {
            var lines = ["\(kind) \(number): \(verdict.rawValue)"]
            if !details.isEmpty { lines.append("    \(details)") }
            lines.append("    \(isWork ? "started" : "made") at \(origin), \(ageText) ago")
            lines.append("    held by \(holders.isEmpty ? "you: nothing in ScopedNet holds it" : holders.joined(separator: ", "))")
            if !closures.isEmpty { lines.append("    holds \(closures.joined(separator: ", ")), and what they capture") }
            return lines.joined(separator: "\n")
        }

        /// It does something by itself, and ends.
        fileprivate var isWork: Bool { kind == .run || kind == .operation }

        private var ageText: String {
            let milliseconds = age / .milliseconds(1)
            return milliseconds < 1000 ? "\(Int(milliseconds)) ms" : "\(Int(milliseconds) / 1000).\(Int(milliseconds) % 1000 / 100) s"
        }
    }

    /// The objects that are alive and should not be.
    public let leaks: [Leak]
    /// Requests that went although closures were registered for their next start, a sentence each: nothing was sent.
    public let forgottenStarts: [String]
    /// True for no finding.
    public var isEmpty: Bool { leaks.isEmpty && forgottenStarts.isEmpty }

    /// One line for each kind of holder among the leaks: the code to write instead.
    public var advice: [String] { LeakHolder.advice(about: leaks.flatMap(\.holds)) }

    /// A paragraph for each finding, and the advice.
    public var description: String {
        isEmpty ? "nothing alive" : (paragraphs { _ in true } + advice).joined(separator: "\n")
    }

    /// A paragraph for each finding.
    func paragraphs(where isShown: (Leak) -> Bool) -> [String] { forgottenStarts + leaks.filter(isShown).map(\.description) }

    init(entries: [LeakCensus.Entry], all: [LeakCensus.Entry], forgottenStarts: [String] = []) {
        self.forgottenStarts = forgottenStarts
        let now = SystemTiming().now()
        let states: [Leak.Witness] = all.compactMap { entry in
            entry.member.object.map { Leak.Witness(birth: entry.birth, state: $0.censusState, members: BagMembers($0)) }
        }
        let wanted = Set(entries.map(\.birth.number))
        leaks = states.filter { wanted.contains($0.birth.number) }.map { Leak($0, among: states, now: now) }
    }
}

extension LeakReport.Leak {
    /// A live object and its answers.
    fileprivate struct Witness {
        let birth: CensusBirth
        let state: CensusState
        let members: BagMembers?
    }

    fileprivate init(_ witness: Witness, among all: [Witness], now: UInt64) {
        let (birth, state) = (witness.birth, witness.state)
        kind = LeakReport.Kind(birth.kind)
        number = birth.number
        origin = birth.origin
        age = .nanoseconds(Int64(clamping: now &- birth.time))
        details = [birth.name == birth.origin || birth.name == state.text ? "" : birth.name, state.text].filter { !$0.isEmpty }.joined(
            separator: ": ")
        let keepers = all.filter { $0.state.holds.contains(birth.number) }
        let type = kind == .operation ? "ScopedOperation" : "Run"
        let handles = state.handles > 1 ? "\(state.handles) handles (\(type)) of yours" : "a handle (\(type)) of yours"
        holders =
            (state.handles > 0 ? [handles] : []) + state.tables + keepers.map { "\($0.birth.kind) \($0.birth.number) (\($0.birth.origin))" }
        closures = (state.isInFlight ? birth.closures : []) + state.closures
        verdict =
            if kind == .run || kind == .operation {
                state.isInFlight ? .inFlight : state.isOver && !state.tables.isEmpty ? .endedButInTables : .endedButReferenced
            } else {
                keepers.contains { $0.state.isInFlight } ? .heldByRun : .referenced
            }
        holds = verdict == .heldByRun ? [] : LeakHolder.found(kind, at: origin, state, closures, witness.members)
    }
}
