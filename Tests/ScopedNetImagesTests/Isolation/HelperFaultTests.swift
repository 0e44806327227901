#if Images
import CleanSlate
import Dispatch
import FoundationEssentials
import Glibc
import Testing

@testable import ScopedNetImages

extension IsolationTests {
    /// Helpers that crash, hang, do what is not allowed, or lie: each costs its own picture, by a typed error.
    @Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3)), .enabled(if: IsolationSamples.hasFaults, "in debug builds alone"))
    struct HelperFaultTests {
        typealias I = IsolationSamples
        typealias S = CodecSamples

        private func error(of fault: I.Fault, deadline: Duration = .seconds(10)) throws -> ImageIsolationError? {
            var configuration = I.configuration(fault)
            configuration.deadline = deadline
            let decoder = IsolatedDecoder(configuration)
            defer { #expect(decoder.pool.idleProcesses.isEmpty && I.helpers().isEmpty, "\(fault)") }
            do {
                _ = try I.decode(try S.file("baseline.jpg"), by: decoder)
                return nil
            } catch let error as ImageIsolationError {
                #expect(!error.description.isEmpty)
                return error
            }
        }

        @Test(arguments: [I.Fault.open, .socket, .executableMemory]) func aCallThatIsNotAllowedIsAViolation(_ fault: I.Fault) throws {
            #expect(try error(of: fault) == .violation)
        }

        @Test func aCrashIsATypedError() throws {
            #expect(try error(of: .memoryFault) == .helperCrashed(signal: SIGSEGV))
            #expect(try error(of: .abort) == .helperCrashed(signal: SIGABRT))
        }

        @Test(.enabled(if: !I.isSanitized)) func memoryIsLimited() throws {
            #expect(try error(of: .allocate) == .helperCrashed(signal: SIGABRT))
        }

        @Test(arguments: [I.Fault.loop, .wait, .hangUp]) func aHelperThatHangsIsEnded(_ fault: I.Fault) throws {
            let error = try error(of: fault, deadline: .milliseconds(300))
            switch fault {
            case .hangUp: #expect(error == .helperCrashed(signal: SIGKILL))
            default: #expect(error == .timedOut)
            }
        }

        /// By the limit that holds without the program as well.
        @Test func processorTimeIsLimited() throws {
            let process = try HelperProcess(path: I.helperPath, addressSpace: 1 << 30)
            var request = try IsolationPlan(try S.file("baseline.jpg"), try S.header(try S.file("baseline.jpg")), .init()).request
            request.flags = I.Fault.loop.rawValue
            let file = try SharedMemory.copy(of: try S.file("baseline.jpg"))
            let pixels = try SharedMemory.empty(byteCount: request.output.width * request.output.height * 4)
            process.allowProcessorTime(seconds: 1)
            let isSent = process.socket.send(request.words, file: file.descriptor, pixels: pixels.descriptor)
            let hasEnded = process.socket.waitForMessage(milliseconds: 60_000)
            let answer = try process.socket.receive()
            #expect(isSent && hasEnded && answer == nil)
            #expect(process.failure() == .timedOut)
        }

        @Test(arguments: [
            I.Fault.wrongSize, .wrongMagic, .shortAnswer, .unknownStatus,
        ]) func aHelperThatLiesIsRefused(_ fault: I.Fault) throws {
            guard case .protocolError? = try error(of: fault) else {
                Issue.record("\(fault) is accepted")
                return
            }
        }

        /// It could write to them when they are shown already. A small picture is copied, and is not changed by that.
        @Test func aHelperThatKeepsThePixelsIsRefused() throws {
            let decoder = I.decoder(.keepPixels)
            let large = try JPEGEncoder().encode(try S.image(1_100, 1_000) { x, y in [UInt8(x & 255), UInt8(y & 255), 0, 255] })
            #expect(throws: ImageIsolationError.self) { try I.decode(large, by: decoder) }
            #expect(I.helpers().isEmpty)
            #expect(try I.result { try I.decode(large, by: I.decoder()) } == I.result { try S.decode(large) })
            #expect(try I.decode(try S.file("baseline.jpg"), by: decoder).width > 0)
        }

        /// A second answer is not taken for that of the next picture.
        @Test func aSecondAnswerEndsTheHelper() throws {
            let decoder = I.decoder(.twoAnswers)
            let names = ["baseline.jpg", "png-6-8.png", "lossy.webp"]
            for name in names {
                let data = try S.file(name)
                #expect(try I.result { try I.decode(data, by: decoder) } == I.result { try S.decode(data) })
                // Else the second one may come when the next request is out already, and is refused as its answer.
                let pid = try #require(decoder.pool.idleProcesses.first)
                usleep(100_000)
                #expect(kill(pid, 0) == 0)
            }
        }

        @Test func aDescriptorThatIsSentIsNotTaken() throws {
            let before = I.descriptors()
            let decoder = I.decoder(.sendDescriptor)
            for _ in 0..<5 { _ = try? I.decode(try S.file("baseline.jpg"), by: decoder) }
            decoder.endIdleHelpers()
            #expect(I.descriptors()["/dev/null"] ?? 0 <= before["/dev/null"] ?? 0)
        }

        @Test func aLongTextIsCut() throws {
            #expect(throws: ImageError.damaged(.jpeg, String(repeating: "x", count: 200))) {
                try I.decode(try S.file("baseline.jpg"), by: I.decoder(.longText))
            }
        }

        /// Killed in the midst of a picture; the next one is decoded by another helper.
        @Test func aHelperThatIsKilledCostsItsPictureAlone() throws {
            let decoder = I.decoder(.wait)
            let killer = DispatchQueue(label: "killer")
            killer.async {
                while true {
                    if let pid = I.helpers().first { _ = kill(pid, SIGKILL); return }
                    usleep(1_000)
                }
            }
            #expect(throws: ImageIsolationError.helperCrashed(signal: SIGKILL)) { try I.decode(try S.file("baseline.jpg"), by: decoder) }
            killer.sync {}
            #expect(I.helpers().isEmpty)
            let isolated = IsolatedDecoder(pool: decoder.pool)
            #expect(try I.decode(try S.file("baseline.jpg"), by: isolated).width > 0)
        }

        @Test(arguments: [I.Fault.open, .memoryFault, .wrongMagic]) func theNextPictureGetsAFreshHelper(_ fault: I.Fault) throws {
            let faulty = I.decoder(fault)
            let healthy = IsolatedDecoder(pool: faulty.pool)
            let data = try S.file("png-6-8.png")
            for _ in 0..<3 {
                #expect(throws: ImageIsolationError.self) { try I.decode(data, by: faulty) }
                #expect(try I.result { try I.decode(data, by: healthy) } == I.result { try S.decode(data) })
            }
        }

        // MARK: Cancellation

        @Test func aCancelEndsTheHelperSoon() async throws {
            let decoder = I.decoder(.wait)
            let cancellation = DecodingCancellation()
            let task = Task.detached { try I.decode(try S.file("baseline.jpg"), by: decoder, cancellation: cancellation) }
            while I.helpers().isEmpty { await Task.yield() }
            let clock = ContinuousClock()
            let start = clock.now
            cancellation.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(clock.now - start < .seconds(1))
            #expect(I.helpers().isEmpty)
        }

        /// While it waits for another picture to be ready.
        @Test func aCancelEndsTheWaitForAHelper() async throws {
            var configuration = I.configuration(.wait)
            configuration.helpers = 1
            let decoder = IsolatedDecoder(configuration)
            let (first, second) = (DecodingCancellation(), DecodingCancellation())
            let running = Task.detached { try I.decode(try S.file("baseline.jpg"), by: decoder, cancellation: first) }
            while I.helpers().isEmpty { await Task.yield() }
            let waiting = Task.detached { try I.decode(try S.file("baseline.jpg"), by: decoder, cancellation: second) }
            second.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(I.helpers().count == 1)
            first.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
        }

        // MARK: Other programs in place of the helper

        private struct Unexpected: Error {
            let text: String
        }

        @Test func aProgramThatIsNoHelperIsATypedError() throws {
            // A busy machine takes its time to start a shell.
            func error(_ path: String, within deadline: Duration = .seconds(60)) throws -> ImageIsolationError? {
                var configuration = I.configuration()
                (configuration.helperPath, configuration.deadline) = (path, deadline)
                do {
                    try IsolatedDecoder(configuration).prepare()
                    return nil
                } catch let error { return error }
            }
            #expect(try error("/bin/true") == .protocolError("it ended with status 0"))
            #expect(try error("/bin/sleep", within: .milliseconds(300)) == .timedOut)
            try I.withScript("no program") { path in
                guard case .helperUnusable? = try error(path) else { throw Unexpected(text: "it has started") }
            }
            try I.withScript("#!/bin/sh\nexit 69\n") { path in
                guard case .helperUnusable(let text)? = try error(path) else { throw Unexpected(text: "it works") }
                #expect(text.contains("Images"))
            }
            try I.withScript("#!/bin/sh\nexit 0\n", mode: 0o644) { path in
                let missing = try error(path)
                #expect(missing == .helperMissing(looked: [path]))
            }
            // It answers at once, before there is a request.
            try I.withScript("#!/bin/sh\nprintf 1234 >&3\nexec sleep 5\n") { path in
                guard case .protocolError? = try error(path) else { throw Unexpected(text: "it works") }
            }
            #expect(I.helpers().isEmpty)
        }

        @Test func anAddressSpaceThatIsTooSmallIsATypedError() throws {
            guard !I.isSanitized else { return }
            var configuration = I.configuration()
            configuration.addressSpace = 1 << 20
            #expect(throws: ImageIsolationError.self) { try IsolatedDecoder(configuration).prepare() }
            // Enough to start, and not for the picture.
            configuration.addressSpace = 64 << 20
            let big = ImageHeader(format: .png, width: 5_000, height: 5_000)
            #expect(throws: ImageError.self) {
                try IsolatedDecoder(configuration).decode(try S.file("png-6-8.png"), header: big, options: ImageDecodingOptions())
            }
        }
    }
}
#endif
