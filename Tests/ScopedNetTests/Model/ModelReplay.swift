#if canImport(ScopedNet)
@testable import ScopedNet
#endif

/// Where a test can stop the engine's threads; most are a `Step` of `StepDoor`.
enum Door: String {
    case beforeLink, announced, listed, beforeStart, beforeQueue, queued, queueTimed, beforeTransfer, stageStored, transferStarted,
        retryWaiting
    case decoded, beforeDelivery, callAdmitted, callEnded, afterAdmission, betweenCalls, furtherCallAdmitted, afterCall, beforeEnd,
        gateShut, stageRead, listTaken, gatesShut
    /// Inside the user's closure.
    case inCall
    /// Between two calls of `suspend` and `resume`.
    case betweenSuspensions
    /// Nothing to do; the thread is through.
    case idle, finished

    /// The door between two atomic steps, if there is one.
    init?(after executed: Label, before next: Label) {
        switch (executed, next) {
        case (.announce, .push): self = .announced
        case (.push, .confirm): self = .listed
        case (.cancelGate, _): self = .gateShut
        case (.abortRead, _): self = .stageRead
        case (.bagTake, _): self = .listTaken
        case (.bagShut, .bagSettle): self = .gatesShut
        case (.submitEnter, .queueTimer), (.submitEnter, .queueLook): self = .queued
        case (.queueTimerNote, _): self = .queueTimed
        case (.beginStage, _): self = .stageStored
        case (.beginStart, _): self = .transferStarted
        case (.waitNote, _): self = .retryWaiting
        case (.work, _): self = .decoded
        case (.completeStage, _): self = .beforeDelivery
        case (.eventAdmit, .eventClosed): self = .callAdmitted
        case (.endAdmit, .endClosed): self = .afterAdmission
        case (.call, _), (.endCall, _): self = .inCall
        case (.calling, _): self = .callEnded
        case (.endCalling, .endFurther), (.callOut, .eventAdmit): self = .betweenCalls
        case (.endFurther, .endFurtherClosed): self = .furtherCallAdmitted
        case (_, .endDestroy): self = .afterCall
        case (.suspendNext, .suspendLook): self = .betweenSuspensions
        case (_, .startLink): self = .beforeLink
        case (_, .startGate): self = .beforeStart
        case (_, .submitLook): self = .beforeQueue
        case (_, .beginLook): self = .beforeTransfer
        case (_, .retire): self = .beforeEnd
        default: return nil
        }
    }
}

/// One stride of a trace, and what the engine must look like behind it.
struct Stride {
    let move: Move
    let door: Door
    let picture: [String]
    let isLaneEmpty: Bool
    /// The answer of a cancel that has returned.
    let answer: Int?
    let endReason: UInt8

    init(_ move: Move, _ door: Door, _ state: ModelState, _ setup: Setup) {
        self.move = move
        self.door = door
        picture = state.picture(setup)
        isLaneEmpty = state.laneCount == 0
        answer = state.threads[move.thread].depth == 0 ? Int(state.threads[move.thread].result) : nil
        endReason = state.runs[0].endReason
    }

    /// A word, as a program of its own prints it.
    var word: String {
        let fields = [
            "\(move.thread)", "\(move.choice)", door.rawValue, isLaneEmpty ? "1" : "0", answer.map(String.init) ?? "", "\(endReason)",
        ]
        return (fields + picture).map { $0.replacing(" ", with: "_") }.joined(separator: ";")
    }

    init?(word: Substring) {
        let fields = word.split(separator: ";", omittingEmptySubsequences: false).map { String($0).replacing("_", with: " ") }
        guard fields.count > 6, let thread = Int(fields[0]), let choice = Int(fields[1]), let door = Door(rawValue: fields[2]),
            let endReason = UInt8(fields[5])
        else { return nil }
        move = Move(thread: thread, choice: choice)
        self.door = door
        isLaneEmpty = fields[3] == "1"
        answer = Int(fields[4])
        self.endReason = endReason
        picture = Array(fields[6...])
    }
}

extension ModelState {
    /// The run, as it can be seen from outside; of the engine `Replayer` makes the same.
    func picture(_ setup: Setup) -> [String] {
        let run = runs[0]
        var transfers: [String] = []
        for index in 1..<5 where run.transfers[index].phase != .none {
            let transfer = run.transfers[index]
            let isOver = transfer.phase == .done
            transfers.append(isOver ? "over" : "\(transfer.isCancelled ? "cancelled " : "")\(transfer.isPaused ? "paused" : "running")")
        }
        let timers = run.queueTimers.nonzeroBitCount + run.waitTimers.nonzeroBitCount
        return [
            "gate \(run.life.phase) \(run.life.reason) \(run.life.goesOn)", "stage \(run.stage & 7)", "suspended \(run.life.isSuspended)",
            "alive \(run.isHeld ? 1 : 0)", "bags \(Int(bags[0].count) + (bags[0].holdsChild ? 1 : 0)) \(bags[1].count)",
            "waiting \(run.waiting == 0 ? 0 : 1)", "slots \(setup.hasQueue ? Int(slotsInUse) : 0)", "timers \(timers)",
            "transfers \(transfers)",
            "calls \(run.successes) \(run.failures) \(run.furtherCalls) \(run.ends)",
        ]
    }
}

/// The model in strides from door to door: those orders of steps that a test can force upon the engine.
struct Strider {
    let explorer: Explorer

    /// Nil when the thread cannot move (in this way).
    func stride(_ state: ModelState, _ move: Move) -> (state: ModelState, door: Door)? {
        var state = state
        var move = move
        while true {
            let executed = state.threads[move.thread].frames[max(0, Int(state.threads[move.thread].depth) - 1)]
            guard let next = explorer.next(state, move) else { return nil }
            state = next
            move = Move(thread: move.thread, choice: 0)
            let depth = Int(state.threads[move.thread].depth)
            guard depth > 0 else { return (state, .finished) }
            let label = state.threads[move.thread].frames[depth - 1]
            if depth == 1, [.lane, .network, .worker, .timer, .path].contains(label) { return (state, .idle) }
            if let door = Door(after: executed, before: label) { return (state, door) }
        }
    }

    /// The strides of a trace; nil where the model cannot go them.
    func strides(_ trace: [Move]) -> [Stride]? {
        var state = explorer.initial
        var strides: [Stride] = []
        for move in trace {
            guard let (next, door) = stride(state, move) else { return nil }
            state = next
            strides.append(Stride(move, door, state, explorer.setup))
        }
        return strides
    }

    /// Traces that together take every stride from every constellation of doors, each from the beginning to the very end.
    func traces(limit: Int) -> (traces: [[Move]], states: Int, strides: Int) {
        var numbers: [UInt64: Int] = [:]
        var states: [ModelState] = []
        var paths: [(parent: Int, move: Move)] = []
        var edges: [[(move: Move, to: Int)]] = []

        func number(_ state: ModelState, _ parent: Int, _ move: Move) -> Int {
            let fingerprint = Explorer.fingerprint(state)
            if let known = numbers[fingerprint] { return known }
            numbers[fingerprint] = states.count
            states.append(state)
            paths.append((parent, move))
            edges.append([])
            return states.count - 1
        }

        _ = number(explorer.initial, -1, Move(thread: 0, choice: 0))
        var next = 0
        var strides = 0
        while next < states.count, states.count < 60_000 {
            for thread in explorer.setup.numbers {
                for choice in 0..<explorer.choices(states[next], thread) {
                    let move = Move(thread: thread, choice: choice)
                    guard let (state, _) = stride(states[next], move) else { continue }
                    strides += 1
                    edges[next].append((move, number(state, next, move)))
                }
            }
            next += 1
        }
        return (cover(states, paths, edges, limit), states.count, strides)
    }

    /// What is to be covered: who moves, and at which label everybody stands.
    private func goal(_ state: ModelState, _ move: Move) -> UInt64 {
        var value = UInt64(move.thread) << 8 | UInt64(move.choice)
        for thread in explorer.setup.numbers {
            let depth = Int(state.threads[thread].depth)
            value = (value &* 0x100_0000_01B3) ^ UInt64(depth > 0 ? state.threads[thread].frames[depth - 1].rawValue : 0)
        }
        return value
    }

    private func cover(
        _ states: [ModelState], _ paths: [(parent: Int, move: Move)], _ edges: [[(move: Move, to: Int)]], _ limit: Int
    ) -> [[Move]] {
        var open: Set<UInt64> = []
        for index in states.indices {
            for edge in edges[index] { open.insert(goal(states[index], edge.move)) }
        }
        var order: [(state: Int, edge: Int)] = []
        for index in states.indices {
            for edge in edges[index].indices { order.append((index, edge)) }
        }
        // Spread over the whole graph, also where there is a limit.
        var generator = Generator(state: 42)
        order.shuffle(using: &generator)
        var traces: [[Move]] = []
        for (start, edge) in order where open.contains(goal(states[start], edges[start][edge].move)) {
            guard traces.count < limit else { break }
            var trace: [Move] = []
            var index = start
            while index > 0 {
                trace.append(paths[index].move)
                index = paths[index].parent
            }
            trace.reverse()
            index = 0
            var place = 0
            while place < trace.count {
                open.remove(goal(states[index], trace[place]))
                index = edges[index].first { $0.move == trace[place] }!.to
                place += 1
            }
            var wish: Int? = edge
            while !edges[index].isEmpty {
                let fresh = edges[index].indices.filter { open.contains(goal(states[index], edges[index][$0].move)) }
                let pick = wish ?? fresh.randomElement(using: &generator) ?? edges[index].indices.randomElement(using: &generator)!
                wish = nil
                trace.append(edges[index][pick].move)
                open.remove(goal(states[index], edges[index][pick].move))
                index = edges[index][pick].to
            }
            traces.append(trace)
        }
        return traces
    }
}

/// A small generator, so that the same traces come out each time.
struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

extension Scenario {
    /// Those that a test can force upon the engine.
    static var replayable: [Int] {
        all.indices.filter { index in
            let setup = all[index].setup
            guard !setup.isPlaced, !setup.replacesOldest else { return false }
            if setup.hasProgress, setup.script[0] != .ok { return false }
            if setup.intercepts || setup.claimsTarget || setup.waitsForPath || setup.hasPath || setup.cache != .none || setup.isRefresh {
                return false
            }
            for index in setup.script.indices where setup.script[index].rawValue > Setup.Response.retryLater.rawValue { return false }
            for number in setup.numbers {
                switch setup.roles[number] {
                case .starter1, .endBagDeferred, .background, .agentCancelAll: return false
                default: continue
                }
            }
            return true
        }
    }
}

extension Scenario {
    /// Of those, the ones that are about the work of a run and not about bags.
    static var short: [Int] {
        replayable.filter { index in
            let setup = all[index].setup
            return !setup.usesBag && !setup.hasProgress && setup.release == .untilFinished && setup.closures == 1 && !all[index].isLarge
                && !setup.roles.contains(.join)
        }
    }
}

extension ModelReport {
    /// Some traces with all that is expected, for an engine that may be another than the model's: the scenario's number, then a word for each stride.
    static func strides(limit: Int) {
        for index in Scenario.short {
            let strider = Strider(explorer: Explorer(setup: Scenario.all[index].setup))
            for trace in strider.traces(limit: limit).traces {
                guard let strides = strider.strides(trace) else { continue }
                print("strides: \(index) " + strides.map(\.word).joined(separator: " "))
            }
        }
    }

    /// Runs those scenarios once, for whoever watches which transitions are taken.
    static func visitShort() {
        for index in Scenario.short { _ = Explorer(setup: Scenario.all[index].setup).explore() }
    }

    /// Traces for the engine, one a line: the scenario's number, then who moves (and how).
    static func traces(limit: Int) {
        for index in Scenario.replayable {
            let strider = Strider(explorer: Explorer(setup: Scenario.all[index].setup))
            let (traces, states, strides) = strider.traces(limit: limit)
            print("replay: \(Scenario.all[index].name): \(traces.count) traces of \(states) constellations and \(strides) strides")
            for trace in traces {
                print("trace: \(index) " + trace.map { "\($0.thread).\($0.choice)" }.joined(separator: " "))
            }
        }
    }
}
