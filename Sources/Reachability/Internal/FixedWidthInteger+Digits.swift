extension FixedWidthInteger {
    /// Digits alone: to Swift "+80" is a number, too.
    init?(digits text: some StringProtocol, radix: Int = 10) {
        guard let first = text.utf8.first, !"+-".utf8.contains(first) else { return nil }
        self.init(text, radix: radix)
    }
}
