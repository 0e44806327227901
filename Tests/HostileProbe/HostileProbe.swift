import CHostile
import Foundation
import Glibc
import TestProcesses

/// A host program in trouble. `HostileTests` starts it and reads the verdict that it prints as its last line.
///
///     HostileProbe SCENARIO SERVER UNRELATED-SERVER FOLDER
@main
struct HostileProbe {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count == 4, let scenario = Scenario(rawValue: words[0]) else {
            print("HostileProbe SCENARIO SERVER UNRELATED-SERVER FOLDER, with one of these scenarios:")
            for scenario in Scenario.allCases { print("  \(scenario.rawValue)") }
            exit(2)
        }
        hostile_close_inherited()
        // While there is one thread: the others would keep the old namespace.
        if scenario.mounts, hostile_unshare_mounts() != 0 {
            print("no mount namespace: \(String(cString: strerror(errno)))")
            exit(2)
        }
        let stage = Stage(scenario: scenario, url: words[1], unrelatedURL: words[2], folder: words[3])
        await stage.run()
        let verdict = stage.verdict
        print(verdict.line)
        fflush(nil)
        exit(verdict.problems.isEmpty ? 0 : 1)
    }
}
