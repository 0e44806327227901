/// The troubles that a host program can be in.
enum Scenario: String, CaseIterable, Sendable {
    case frozenDisk = "frozen-disk"
    case fullDisk = "full-disk"
    case readOnlyDisk = "read-only-disk"
    case foreignFolder = "foreign-folder"
    case noPermission = "no-permission"
    case symlinks
    case deadResolver = "dead-resolver"
    case pausedProcess = "paused-process"
    case steppedClock = "stepped-clock"
    case noDescriptors = "no-descriptors"
    case manyThreads = "many-threads"
    case forkWithoutExec = "fork-without-exec"
    /// Does on purpose what the probe has to notice: a test of the probe itself.
    case misbehaviour

    /// Whether it changes what is mounted, and so needs a mount namespace of its own.
    var mounts: Bool {
        switch self {
        case .frozenDisk, .fullDisk, .readOnlyDisk, .deadResolver: true
        default: false
        }
    }

    /// Whether unrelated requests that need a connection of their own are sent: where there are no descriptors, none can be made.
    var connects: Bool { self != .noDescriptors }

    func play(on stage: Stage) async throws {
        switch self {
        case .frozenDisk: try await FrozenDiskScenario.play(on: stage)
        case .fullDisk: try await FullDiskScenario.play(on: stage)
        case .readOnlyDisk: try await ReadOnlyDiskScenario.play(on: stage)
        case .foreignFolder: try await ForeignFolderScenario.play(on: stage)
        case .noPermission: try await NoPermissionScenario.play(on: stage)
        case .symlinks: try await SymlinkScenario.play(on: stage)
        case .deadResolver: try await DeadResolverScenario.play(on: stage)
        case .pausedProcess: try await PausedProcessScenario.play(on: stage)
        case .steppedClock: try await SteppedClockScenario.play(on: stage)
        case .noDescriptors: try await NoDescriptorsScenario.play(on: stage)
        case .manyThreads: try await ManyThreadsScenario.play(on: stage)
        case .forkWithoutExec: try await ForkScenario.play(on: stage)
        case .misbehaviour: try await MisbehaviourScenario.play(on: stage)
        }
    }
}
