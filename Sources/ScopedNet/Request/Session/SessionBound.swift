/// A part of a session. Transports of tests read its settings.
package protocol SessionBound {
    var session: Session { get }
    /// ``RequestOptions/userInfo`` of the request.
    var userInfo: [String: any Sendable] { get }
}
