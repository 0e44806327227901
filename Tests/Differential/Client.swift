/// One of those that are compared.
protocol Client: Sendable {
    var name: String { get }
    func perform(_ call: Call) async -> Reply
}
