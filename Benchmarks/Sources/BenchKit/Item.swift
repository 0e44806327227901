/// An element of `items.json`: what an API of the usual kind answers with.
public struct Item: Codable, Sendable {
    /// The number of the item, unique in the file.
    public var id: Int
    /// A word and the number.
    public var name: String
    /// An eighth of the number.
    public var price: Double
    /// Two labels, one with a letter beyond ASCII.
    public var tags: [String]
    /// True for all.
    public var isAvailable: Bool
}
