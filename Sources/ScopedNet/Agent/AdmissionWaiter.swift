/// A run, as the ``AdmissionQueue`` that it asks for a slot sees it.
package protocol AdmissionWaiter: AnyObject, Sendable {
    /// The present urgency. Any thread.
    var priority: Priority { get }
    /// The slot that the present exchange needs.
    var admissionKey: AdmissionKey { get }
    /// Of the present exchange.
    var exchangeID: TransferID { get }
    /// The exchange that waits in the queue; nil where none does. Any thread.
    var queuedExchange: TransferID? { get }
    /// Its place in the queue. Guarded by the queue's lock.
    var queuePlace: Int32 { get set }

    /// It has a slot. Any thread.
    ///
    /// - Returns: false when the slot is not used; the caller passes it on.
    func beginTransfer() -> Bool
    /// It was taken out of the queue. Called under the queue's lock: notes it and does no more.
    func didLeaveQueue()
}
