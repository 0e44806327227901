/// An object to watch die.
final class Canary: Sendable {}
