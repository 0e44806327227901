import CleanSlate
import Testing

/// What no table foresees: an origin that changes and fails, callers with every wish, and the rules between them.
///
/// Whatever comes, the bytes are those of one version, of the right variant, not older than somebody allowed, and never what the
/// caller's own POST has ended.
@Suite(.leavesNothing) struct ConversationTests {
    @Test func randomConversationsNeverGetWhatTheyMustNot() {
        var tally = Conversation.Tally()
        var complaints: [String] = []
        for seed in 1...400 as ClosedRange<UInt64> {
            var conversation = Conversation(seed: seed)
            conversation.run(exchanges: 40)
            tally += conversation.tally
            complaints += conversation.complaints
            if complaints.count > 3 { break }
        }
        print("Random conversations: \(tally)")
        #expect(complaints.isEmpty, "\(complaints.joined(separator: "\n"))")
        #expect(tally.hits > 1500)
        #expect(tally.validations > 500)
        #expect(tally.ranges > 100)
        #expect(tally.joins > 10)
        #expect(tally.staleOnFailure > 50)
    }
}
