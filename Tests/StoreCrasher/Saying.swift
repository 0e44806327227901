import Glibc

/// One line to whoever started the program, in one piece, and nothing of it held back when the program is killed.
func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    write(STDOUT_FILENO, bytes, bytes.count)
}

func fail(_ message: String) -> Never {
    say("FAILED \(message)")
    exit(3)
}

/// A word of the command line after the program's name.
func argument(_ index: Int) -> String {
    guard CommandLine.arguments.indices.contains(index + 1) else { fail("argument \(index) is missing") }
    return CommandLine.arguments[index + 1]
}

func number(_ index: Int) -> Int {
    guard let number = Int(argument(index)) else { fail("\(argument(index)) is no number") }
    return number
}
