/// The bag whose task the current task is, or was made in.
enum TaskScope {
    @TaskLocal static var bag: BagStorage?
}

/// The reason of a run's end when the task that awaits it is cancelled.
///
/// Made in that task, and asked wherever the cancellation comes from: a bag that ends cancels its tasks, and is the reason then.
struct TaskCancellation: Sendable {
    private let scope = TaskScope.bag

    var reason: CancelReason { scope?.endReason ?? .taskCancelled }
}
