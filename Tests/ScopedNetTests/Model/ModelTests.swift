import Foundation
import Testing

@testable import ScopedNet

/// The model of a run, compiled with optimisation together with the shipping files of its machines, and those files with mutants in them.
/// What it prints is the record; `docs/model.md` explains it.
@Suite(.serialized) struct ModelTests {
    private static let isSoaking = ProcessInfo.processInfo.environment["SCOPEDNET_SOAK"] == "1"
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let machines = [
        "Sources/ScopedNet/Request/RunGate.swift", "Sources/ScopedNet/Request/RunStage.swift", "Sources/ScopedNet/Scope/BagLink.swift",
    ]
    private static let model = ["ModelState", "ModelProgram", "ModelExplorer", "ModelScenarios", "ModelReport"]
        .map { "Tests/ScopedNetTests/Model/\($0).swift" }

    // MARK: In this process

    /// The model as the test target compiles it, on a scenario small enough for a debug build.
    @Test func theSmallestScenarioHolds() {
        let scenario = Scenario.all.first { $0.name == "second bag: join, completion" }!
        let report = Explorer(setup: scenario.setup).explore()
        #expect(report.violation == .none)
        #expect(report.isComplete)
        #expect(report.states > 1_000)
    }

    // MARK: As a program of its own

    @Test func everyOrderOfStepsHolds() throws {
        try withProgram(mutated: false) { program, _ in
            let (status, lines) = try run(program, ["explore", Self.isSoaking ? "all" : "small"])
            print(lines.joined(separator: "\n"))
            #expect(status == 0)
            let (found, flaws) = try run(program, ["flaws"])
            print(flaws.joined(separator: "\n"))
            #expect(found == 0)
        }
    }

    /// Survivors that were looked at: what they change cannot be seen from outside. Everything else that the scenarios reach must be killed.
    private static let equivalent: [String: String] = [:]

    @Test func mutantsOfTheShippingMachinesAreKilled() throws {
        try withProgram(mutated: true) { program, mutants in
            let limit = Self.isSoaking ? "1000000" : "40000"
            let (status, lines) = try run(program, ["mutants", "\(mutants.all.count)", limit])
            #expect(status == 0)
            let reached = Set(lines.filter { $0.hasPrefix("reached: ") }.compactMap { Int($0.dropFirst(9)) })
            let killed = Set(lines.filter { $0.contains(" killed: ") }.compactMap { Int($0.split(separator: " ")[1]) })
            var open: [MachineMutants.Mutant] = []
            for mutant in mutants.all where !killed.contains(mutant.number) && reached.contains(mutant.number) {
                let place = "\(mutant.file):\(mutant.line) \(mutant.text)"
                if let why = Self.equivalent["\(mutant.file) \(mutant.text)"] {
                    print("mutant: \(place): survives, equivalent: \(why)")
                } else {
                    print("mutant: \(place): SURVIVES")
                    open.append(mutant)
                }
            }
            let unreached = mutants.all.count { !reached.contains($0.number) && !killed.contains($0.number) }
            print(
                "mutant: \(mutants.all.count) planted, \(unreached) on transitions no order of steps takes, \(killed.count) of "
                    + "\(mutants.all.count - unreached) others killed")
            #expect(open.isEmpty)
            #expect(killed.count >= 15)
        }
    }

    // MARK: Tools

    private func withProgram(mutated: Bool, _ body: (URL, MachineMutants) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "model-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var mutants = MachineMutants()
        var sources: [String] = Self.model.map { Self.root.appending(path: $0).path }
        for machine in Self.machines {
            let original = Self.root.appending(path: machine)
            guard mutated, original.lastPathComponent != "RunStage.swift" else {
                sources.append(original.path)
                continue
            }
            let text = try String(contentsOf: original, encoding: .utf8)
            let copy = folder.appending(path: original.lastPathComponent)
            try mutants.plant(in: text, file: original.lastPathComponent).write(to: copy, atomically: true, encoding: .utf8)
            sources.append(copy.path)
        }
        let prelude = folder.appending(path: "Mutants.swift")
        try MachineMutants.prelude.write(to: prelude, atomically: true, encoding: .utf8)
        let main = folder.appending(path: "main.swift")
        try Self.main.write(to: main, atomically: true, encoding: .utf8)
        let program = folder.appending(path: "model")
        let arguments = ["swiftc", "-O", "-wmo", "-swift-version", "6", "-package-name", "model", "-o", program.path]
        let (status, lines) = try run(URL(filePath: "/usr/bin/env"), arguments + sources + [prelude.path, main.path])
        try #require(status == 0, "\(lines.joined(separator: "\n"))")
        try body(program, mutants)
    }

    private static let main = """
        let arguments = CommandLine.arguments
        switch arguments[1] {
        case "explore": if !ModelReport.explore(withLarge: arguments[2] == "all") { fatalError("the model does not hold") }
        case "flaws": if !ModelReport.flaws(limit: 400_000) { fatalError("a flaw was not found") }
        default:
            isRecording = true
            ModelReport.visit()
            isRecording = false
            for number in reachedMutants.sorted() { print("reached: \\(number)") }
            ModelReport.mutants(1..<Int(arguments[2])! + 1, limit: Int(arguments[3])!) { activeMutant = $0 }
        }
        """

    private func run(_ program: URL, _ arguments: [String]) throws -> (status: Int32, lines: [String]) {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
    }
}
