/// Makes new inputs of given ones: bytes changed, left out, doubled, or taken from another.
struct Mutator {
    private var state: UInt64
    private let seeds: [[UInt8]]
    /// What parsers look for.
    private static let tokens = [
        "\"", "\\", ",", ";", "=", ":", "/", "@", "%", "\r\n", "\0", " ", "\t", "0", "-1", "18446744073709551616", "é", "\u{301}",
    ]
    private static let longest = 4_096

    init(_ number: UInt64, _ seeds: [[UInt8]]) {
        state = number
        self.seeds = seeds
    }

    mutating func next() -> [UInt8] {
        var input = seeds[below(seeds.count)]
        for _ in 0...below(4) { mutate(&input) }
        return Array(input.prefix(Self.longest))
    }

    private mutating func mutate(_ input: inout [UInt8]) {
        let place = below(input.count + 1)
        let end = min(input.count, place + 1 + below(16))
        switch below(6) {
        case 0: if place < input.count { input[place] = UInt8(truncatingIfNeeded: random()) }
        case 1: if place < input.count { input[place] ^= 1 << UInt8(below(8)) }
        case 2: input.removeSubrange(place..<end)
        case 3: input.insert(contentsOf: input[place..<end], at: place)
        case 4: input.insert(contentsOf: Self.tokens[below(Self.tokens.count)].utf8, at: place)
        default: input.replaceSubrange(place..., with: seeds[below(seeds.count)].suffix(below(64) + 1))
        }
    }

    private mutating func below(_ bound: Int) -> Int { Int(random() % UInt64(max(1, bound))) }

    /// SplitMix64.
    private mutating func random() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
