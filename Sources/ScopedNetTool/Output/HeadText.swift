import ScopedNet

/// A response's head as `-i` and `head` print it (pure). What a server says cannot steer the terminal.
enum HeadText {
    static func lines(_ head: ResponseHead) -> String {
        let fields = head.headers.map { "\($0.name.rawName): \($0.value.printable)\n" }.joined()
        return "\("\(head)".printable)\n\(fields)\n"
    }
}
