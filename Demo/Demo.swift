import Foundation
import ScopedNet
import ScopedNetFoundation

@main
struct DemoProgram {
    static func main() async {
        let options: Options
        do throws(Options.UsageError) { options = try Options(Array(CommandLine.arguments.dropFirst())) } catch {
            fail("\(error)\nDemo --help says how it is used.", status: 2)
        }
        if options.wantsHelp { return print(Options.help) }
        do { exit(try await Performance(options).run().rawValue) } catch { fail("\(error)", status: 1) }
    }

    private static func fail(_ text: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("Demo: \(text)\n".utf8))
        exit(status)
    }
}

/// What a run of the demo comes to.
enum Verdict: Int32 {
    case good = 0
    case failed = 1
    case leaked = 3
}
