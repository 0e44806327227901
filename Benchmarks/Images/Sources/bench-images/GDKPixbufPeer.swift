import Foundation

/// The program in `C/gdk-pixbuf`, asked line by line.
final class GDKPixbufPeer {
    private let process = Process()
    private let questions = Pipe()
    private let answers = Pipe()

    /// Nil where there is no such program.
    init?(_ options: Options) {
        guard let path = options.gdkPixbuf else { return nil }
        process.executableURL = URL(filePath: path)
        process.standardInput = questions
        process.standardOutput = answers
        guard (try? process.run()) != nil else { return nil }
    }

    deinit {
        try? questions.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The processor time in microseconds, and whether it made a picture.
    func ask(_ question: String) -> (time: Double, hasPicture: Bool) {
        questions.fileHandleForWriting.write(Data("\(question)\n".utf8))
        let answer = String(decoding: answers.fileHandleForReading.availableData, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard answer.count == 3, let time = Double(answer[0]) else { fail("gdk-pixbuf does not answer \(question)") }
        return (time, answer[1] != "0")
    }
}
