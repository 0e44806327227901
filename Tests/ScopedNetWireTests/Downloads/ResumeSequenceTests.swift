import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// Any sequence of cuts, changes of the file, cancels, damaged leftovers and odd servers: in the end the file is one version of the server's, whole,
/// and never a mixture (YTK-12; defect 33: repeated resumes corrupted files).
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5))) struct ResumeSequenceTests {
    /// What the server has at the moment.
    private struct Origin {
        var version = 0
        var body = Data()

        mutating func change(_ random: inout SeededGenerator) {
            version += 1
            body = Data((0..<Int.random(in: 1...3_000, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
        }

        func response(_ random: inout SeededGenerator) -> ScriptedResponse {
            var response = tagged(body, "v\(version)")
            switch Int.random(in: 0..<12, using: &random) {
            case 0: return .status(503)
            case 1: return .status(416)
            case 2: response.framing = .chunked
            case 3: response.acceptsRanges = false
            // It takes no notice of If-Range, and says what it sends.
            case 4: return ignoringIfRange(&random)
            case 5: return .ok(.bytes(Array(body)))
            default: break
            }
            let cut = Int.random(in: 0...body.count * 2, using: &random)
            return cut <= body.count ? response.ending(.truncate(afterBytes: cut)) : response
        }

        private func ignoringIfRange(_ random: inout SeededGenerator) -> ScriptedResponse {
            let start = Int.random(in: 0..<body.count, using: &random)
            return ScriptedResponse(
                status: 206, headers: ["Content-Range": "bytes \(start)-\(body.count - 1)/\(body.count)", "ETag": "\"v\(version)\""],
                body: .bytes(Array(body[start...])))
        }
    }

    private func damage(_ wire: ResumeWire, _ random: inout SeededGenerator) {
        let names = ResumeWire.leftovers
        guard let name = names.randomElement(using: &random), let data = wire.folder.contents(of: name) else { return }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: try? FileManager.default.removeItem(atPath: wire.folder.path + "/" + name)
        // A crash may have kept a piece of what was written.
        case 1: _ = wire.folder.write(Data(data.prefix(Int.random(in: 0...data.count, using: &random))), to: name)
        default: break
        }
    }

    @Test(arguments: 1...12) func theFileIsNeverAMixture(_ seed: Int) async throws {
        try await withResumeWire { wire async throws in
            var random = SeededGenerator(seed: UInt64(seed))
            var origin = Origin()
            var completed = 0
            let answers = Lock<[ScriptedResponse]>([])
            wire.server.on("/") { _ in answers.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? .status(500) } }
            for _ in 0..<60 {
                if origin.version == 0 || Int.random(in: 0..<5, using: &random) == 0 {
                    origin.change(&random)
                }
                // As many as one run may need: the second time the whole is asked for.
                let next = [origin.response(&random), origin.response(&random), tagged(origin.body, "v\(origin.version)")]
                answers.withLock { $0 = next }
                switch await wire.download().outcome() {
                case .success:
                    completed += 1
                    let content = try #require(wire.content)
                    #expect(content == origin.body, "seed \(seed): it is no version of the file, or an old one")
                    #expect(wire.folder.names == ["file"])
                    try FileManager.default.removeItem(at: wire.file)
                case .failure(let error):
                    let content = wire.content
                    #expect(content == nil)
                    let expected: [NetworkError.Code] = [.truncatedBody, .connectionLost, .unacceptableStatus, .badResponse]
                    #expect(expected.contains(error.code), "seed \(seed): \(error)")
                    damage(wire, &random)
                }
            }
            #expect(completed > 5)
        }
    }
}
