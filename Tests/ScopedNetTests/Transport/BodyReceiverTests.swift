import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@testable @_spi(Transport) import ScopedNet

/// The receiving of one body: where its bytes go, and how many may come.
@Suite(.leavesNothing) struct BodyReceiverTests {
    private func receive(_ receiver: inout BodyReceiver, _ count: Int) -> BodyReceiver.Answer {
        [UInt8](repeating: 0x61, count: count).withUnsafeBytes { receiver.receive($0) }
    }

    private func refusal(_ answer: BodyReceiver.Answer) -> NetworkError.Code? {
        if case .failed(let code, _) = answer { code } else { nil }
    }

    private func isTaken(_ answer: BodyReceiver.Answer) -> Bool { if case .taken = answer { true } else { false } }

    private func receiver(_ destination: BodyDestination, max: Int64 = .max) -> BodyReceiver {
        var receiver = BodyReceiver()
        receiver.destination = destination
        receiver.maxBytes = max
        return receiver
    }

    // MARK: Memory

    @Test func bytesAreCollectedUpToTheLimit() {
        var receiver = receiver(.memory(limit: 10))
        #expect(isTaken(receive(&receiver, 6)) && isTaken(receive(&receiver, 4)))
        #expect(refusal(receive(&receiver, 1)) == .bodyTooLarge)
        #expect(receiver.received == 10)
        #expect(receiver.takeBytes() == Data(repeating: 0x61, count: 10))
    }

    @Test func aDeclaredLengthBeyondTheLimitIsRefusedBeforeTheFirstByte() {
        var receiver = receiver(.memory(limit: 10))
        #expect(refusal(receiver.expect(11)) == .bodyTooLarge && receiver.expected == 11)
        #expect(isTaken(receiver.expect(10)) && receiver.expected == 10)
    }

    @Test func ofAPrefixTheRestIsDropped() {
        var receiver = receiver(.memoryPrefix(limit: 4, isWanted: true))
        #expect(isTaken(receiver.expect(1 << 40)))
        #expect(isTaken(receive(&receiver, 6)) && isTaken(receive(&receiver, 3 << 20)))
        #expect(receiver.received == 6 + 3 << 20 && receiver.takeBytes().count == 4)
    }

    @Test func aLongBodyThatNobodyReadsIsCutShort() {
        var receiver = receiver(.memoryPrefix(limit: 4, isWanted: false))
        let most = Int(BodyReceiver.mostDropped) + 4
        #expect(isTaken(receive(&receiver, most)) && !receiver.isCutShort)
        guard case .cutShort = receive(&receiver, 1) else {
            Issue.record("it is read on")
            return
        }
        #expect(receiver.isCutShort && receiver.received == Int64(most) + 1)
    }

    // MARK: Streams, files, and what waits

    @Test func aStreamThatIsFullTakesNothing() {
        let stream = BodyStream(window: 10)
        var receiver = receiver(.stream(stream), max: 100)
        #expect(isTaken(receive(&receiver, 6)))
        var isFull = false
        for _ in 0..<3 { if case .full = receive(&receiver, 6) { isFull = true } }
        #expect(isFull && receiver.received < 24)
        stream.finish(nil)
    }

    @Test func streamsHaveTheLimitOfTheOptions() {
        let stream = BodyStream(window: 1 << 20)
        var receiver = receiver(.stream(stream), max: 10)
        #expect(refusal(receiver.expect(11)) == .bodyTooLarge && isTaken(receiver.expect(10)))
        #expect(isTaken(receive(&receiver, 10)) && refusal(receive(&receiver, 1)) == .bodyTooLarge)
        stream.finish(nil)
    }

    @Test func aFileNeedsItsWriterFirst() {
        let file = FileSink(refusing: NetworkError(.diskFull, phase: .receiving, message: "full"))
        var receiver = receiver(.file(file))
        guard case .needsWriter(let asked) = receive(&receiver, 5) else {
            Issue.record("no writer is asked for")
            return
        }
        #expect(asked === file && receiver.received == 0)
    }

    @Test func aHeldBodyIsNotReadUntilItsPlaceIsKnown() {
        let held = HeldBody()
        var receiver = receiver(.held(held))
        #expect(isTaken(receiver.expect(5)))
        guard case .full = receive(&receiver, 5) else {
            Issue.record("it is read")
            return
        }
        held.decide(.memory(limit: 3))
        guard case .destinationChosen = receive(&receiver, 5) else {
            Issue.record("it is held")
            return
        }
        #expect(receiver.received == 0 && refusal(receive(&receiver, 5)) == .bodyTooLarge)
    }

    // MARK: The next transfer

    @Test func nothingIsLeftForTheNextTransfer() {
        var receiver = receiver(.memory(limit: 100), max: 7)
        _ = receiver.expect(50)
        _ = receive(&receiver, 20)
        receiver.cutShort()
        receiver.end()
        #expect(receiver.received == 0 && receiver.expected == nil && !receiver.isCutShort && receiver.maxBytes == .max)
        #expect(receiver.takeBytes().isEmpty && receiver.fileWriter == nil && !receiver.hasUnflushedBytes)
        #expect(refusal(receive(&receiver, 1)) == .bodyTooLarge)
    }
}
