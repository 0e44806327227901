import CleanSlate
import Testing

@_spi(Transport) @testable import ScopedNet

@Suite(.leavesNothing) struct TransferTableTests {
    /// A dictionary is the model: after each of many steps both say the same of every number ever used.
    @Test(arguments: [1, 2, 3, 64, 1 << 32])
    func holdsWhatADictionaryHolds(step: UInt64) {
        var random = SeededGenerator(seed: step)
        var table = TransferTable<UInt64>()
        var model: [UInt64: UInt64] = [:]
        var numbers: [UInt64] = []
        for turn in 0..<4_000 as Range<UInt64> {
            // First it fills, then it empties.
            if random.next() % 8 < (turn < 2_000 ? 5 : 3) {
                let number = (turn + 1) &* step
                numbers.append(number)
                table.insert(turn, for: TransferID(number: number))
                model[number] = turn
            } else if let number = numbers.randomElement(using: &random) {
                table.remove(TransferID(number: number))
                model[number] = nil
            }
            if turn % 97 == 0 {
                for number in numbers where table[TransferID(number: number)] != model[number] { Issue.record("\(number) after \(turn)") }
            }
        }
        #expect(table.count == model.count)
        #expect(table.values.sorted() == model.values.sorted())
        for number in numbers { table.remove(TransferID(number: number)) }
        #expect(table.count == 0)
        #expect(table.values.isEmpty)
    }

    @Test func anUnknownNumberIsNotThere() {
        var table = TransferTable<Int>()
        table.remove(TransferID(number: 7))
        #expect(table[TransferID(number: 7)] == nil)
        table.insert(1, for: TransferID(number: 7))
        table.remove(TransferID(number: 8))
        #expect(table[TransferID(number: 7)] == 1)
        #expect(table.count == 1)
    }
}
