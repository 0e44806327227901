/// Whoever knows the state of the network: netlink, or what is left without it.
protocol Kernel: AnyObject, Sendable {
    /// Before evaluations: reads what no event tells.
    func readInterfaces()
    /// A path to the target, and a ticket: of two evaluations the one with the higher ticket looked later.
    func evaluate(_ question: PathQuestion, settings: EvaluationSettings) -> (PathEvaluator.Outcome, ticket: UInt64)
    var lookups: UInt64 { get }
}
