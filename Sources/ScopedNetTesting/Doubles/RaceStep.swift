internal import ScopedNet

/// The atomic steps of a run, in the order a run meets them. New ones may be added.
public struct RaceStep: Hashable, Sendable, CustomStringConvertible {
    let step: Step
    /// The name of the step.
    public var description: String { step.rawValue }

    /// All of them.
    public static let all: [RaceStep] = Step.allCases.filter { ![.listTaken, .gatesShut, .suspensionAsked, .workEnded].contains($0) }.map {
        RaceStep(step: $0)
    }

    /// In the agent and its bag, about to begin.
    public static let beforeStart = RaceStep(step: .beforeStart)
    /// In the agent, about to be put in its bag.
    public static let beforeLink = RaceStep(step: .beforeLink)
    /// In its bag.
    public static let afterLink = RaceStep(step: .afterLink)
    /// About to ask for a connection slot.
    public static let beforeQueue = RaceStep(step: .beforeQueue)
    /// Waiting for a slot.
    public static let queued = RaceStep(step: .queued)
    /// The timer of its wait for a slot is set.
    public static let queueTimed = RaceStep(step: .queueTimed)
    /// Has a slot, about to go to the transport.
    public static let beforeTransfer = RaceStep(step: .beforeTransfer)
    /// The transport has it.
    public static let transferStarted = RaceStep(step: .transferStarted)
    /// The final head has come, and its body has not been read.
    public static let headReceived = RaceStep(step: .headReceived)
    /// A redirect was followed or refused.
    public static let redirectDecided = RaceStep(step: .redirectDecided)
    /// A 401 or 407 will be answered, or not.
    public static let challengeDecided = RaceStep(step: .challengeDecided)
    /// Another attempt will be made, or not.
    public static let retryDecided = RaceStep(step: .retryDecided)
    /// The timer of the retry is set.
    public static let retryWaiting = RaceStep(step: .retryWaiting)
    /// The body is complete, and about to be decoded.
    public static let beforeDecode = RaceStep(step: .beforeDecode)
    /// The value was made, or could not be.
    public static let decoded = RaceStep(step: .decoded)
    /// The outcome is there, about to be handed to the delivery executor.
    public static let beforeDelivery = RaceStep(step: .beforeDelivery)
    /// On the delivery executor.
    public static let delivering = RaceStep(step: .delivering)
    /// About to ask whether progress or a head may be told.
    public static let beforeCall = RaceStep(step: .beforeCall)
    /// It may.
    public static let callAdmitted = RaceStep(step: .callAdmitted)
    /// It was told.
    public static let callEnded = RaceStep(step: .callEnded)
    /// About to ask whether the result may be told: until here a cancel wins.
    public static let beforeAdmission = RaceStep(step: .beforeAdmission)
    /// It may: from here on a cancel does not change how the run ended.
    public static let afterAdmission = RaceStep(step: .afterAdmission)
    /// About to ask whether one more closure or method of the delegate may be called: until here a cancel or a bag's end silences it.
    public static let betweenCalls = RaceStep(step: .betweenCalls)
    /// It may, if no bag that the run was in has ended or cancelled its members.
    public static let furtherCallAdmitted = RaceStep(step: .furtherCallAdmitted)
    /// All of them were called, or silenced.
    public static let afterCall = RaceStep(step: .afterCall)
    /// About to leave the agent.
    public static let beforeEnd = RaceStep(step: .beforeEnd)
    /// A cancel has asked whether others need the work, and not shut the gate yet.
    public static let gateAsked = RaceStep(step: .gateAsked)
    /// A cancel has shut the gate and taken nothing back yet.
    public static let gateShut = RaceStep(step: .gateShut)
    /// A suspension has found the run at work, and holds nothing yet.
    public static let suspensionAsked = RaceStep(step: .suspensionAsked)
}
