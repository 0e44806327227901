/// An element of `items.json`: what an API of the usual kind answers with.
public struct Item: Codable, Sendable {
    public var id: Int
    public var name: String
    public var price: Double
    public var tags: [String]
    public var isAvailable: Bool
}
