/// xxHash, the 64-bit variant (specification: `doc/xxhash_spec.md` of the xxHash project). Pure.
///
/// It finds damage; it proves nothing against somebody who writes to the disk on purpose.
enum XXHash64 {
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var offset = 0
        var result: UInt64
        if bytes.count >= 32 {
            result = stripes(bytes, seed: seed, offset: &offset)
        } else {
            result = seed &+ prime5
        }
        result &+= UInt64(truncatingIfNeeded: bytes.count)
        while offset &+ 8 <= bytes.count {
            result ^= round(0, load64(bytes, offset))
            result = rotate(result, 27) &* prime1 &+ prime4
            offset &+= 8
        }
        if offset &+ 4 <= bytes.count {
            let word = UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
            result ^= word &* prime1
            result = rotate(result, 23) &* prime2 &+ prime3
            offset &+= 4
        }
        while offset < bytes.count {
            result ^= UInt64(bytes[offset]) &* prime5
            result = rotate(result, 11) &* prime1
            offset &+= 1
        }
        return avalanche(result)
    }

    private static func stripes(_ bytes: UnsafeRawBufferPointer, seed: UInt64, offset: inout Int) -> UInt64 {
        var lane1 = seed &+ prime1 &+ prime2
        var lane2 = seed &+ prime2
        var lane3 = seed
        var lane4 = seed &- prime1
        var position = 0
        let last = bytes.count &- 32
        while position <= last {
            lane1 = round(lane1, load64(bytes, position))
            lane2 = round(lane2, load64(bytes, position &+ 8))
            lane3 = round(lane3, load64(bytes, position &+ 16))
            lane4 = round(lane4, load64(bytes, position &+ 24))
            position &+= 32
        }
        offset = position
        var result = rotate(lane1, 1) &+ rotate(lane2, 7) &+ rotate(lane3, 12) &+ rotate(lane4, 18)
        for lane in [lane1, lane2, lane3, lane4] { result = (result ^ round(0, lane)) &* prime1 &+ prime4 }
        return result
    }

    @inline(__always)
    private static func load64(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 { value << count | value >> (64 &- count) }

    @inline(__always)
    private static func round(_ lane: UInt64, _ input: UInt64) -> UInt64 {
        rotate(lane &+ input &* prime2, 31) &* prime1
    }

    private static func avalanche(_ value: UInt64) -> UInt64 {
        var value = (value ^ value >> 33) &* prime2
        value = (value ^ value >> 29) &* prime3
        return value ^ value >> 32
    }
}
