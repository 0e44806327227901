/// The hash functions of digest authentication (RFC 7616 section 3.2). (pure)
///
/// Written here although OpenSSL has them: where a distribution forbids MD5 (FIPS mode) OpenSSL refuses it, and digests are all that such a server
/// speaks. They see nonces and passwords of one request at a time: a few hundred bytes.
package enum MessageDigest: Sendable, Hashable {
    /// RFC 1321. Broken for signatures, and still what most servers that speak digest speak.
    case md5
    /// FIPS 180-4 section 6.2.
    case sha256
    /// FIPS 180-4 section 6.7: SHA-512 with other initial values, cut to half its length.
    case sha512Half

    package func hash(_ message: [UInt8]) -> [UInt8] {
        switch self {
        case .md5: Self.md5(message)
        case .sha256: Self.sha256(message)
        case .sha512Half: Self.sha512Half(message)
        }
    }

    /// The hash in lower-case hexadecimal digits.
    package func hexadecimal(_ message: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: hash(message).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The message, a 1 bit, zeros, and its length in bits at the end of a block.
    private static func padded(_ message: [UInt8], block: Int, lengthBytes: Int, isBigEndian: Bool) -> [UInt8] {
        var bytes = message + [0x80]
        while bytes.count % block != block - lengthBytes { bytes.append(0) }
        let bits = UInt64(message.count) << 3
        var length = [UInt8](repeating: 0, count: lengthBytes)
        for index in 0..<8 { length[lengthBytes - 1 - index] = UInt8(truncatingIfNeeded: bits >> (8 * index)) }
        return bytes + (isBigEndian ? length : length.reversed())
    }

    private static func word<Word: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>, as type: Word.Type) -> Word {
        bytes.reduce(0) { $0 << 8 | Word(truncatingIfNeeded: $1) }
    }

    private static func bytes<Word: FixedWidthInteger>(_ words: [Word]) -> [UInt8] {
        words.flatMap { word in
            stride(from: Word.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> Word($0)) }
        }
    }

    private static func rotatedRight<Word: FixedWidthInteger>(_ word: Word, _ count: Int) -> Word {
        word >> Word(count) | word << Word(Word.bitWidth - count)
    }

    // MARK: MD5

    private static func md5(_ message: [UInt8]) -> [UInt8] {
        let input = padded(message, block: 64, lengthBytes: 8, isBigEndian: false)
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476]
        for start in stride(from: 0, to: input.count, by: 64) {
            let block = (0..<16).map { word(input[(start + $0 * 4)..<(start + $0 * 4 + 4)], as: UInt32.self).byteSwapped }
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            for step in 0..<64 {
                let (mixed, index): (UInt32, Int) =
                    switch step / 16 {
                    case 0: (b & c | ~b & d, step)
                    case 1: (d & b | ~d & c, (5 * step + 1) % 16)
                    case 2: (b ^ c ^ d, (3 * step + 5) % 16)
                    default: (c ^ (b | ~d), 7 * step % 16)
                    }
                let sum = a &+ mixed &+ sines[step] &+ block[index]
                (a, d, c, b) = (d, c, b, b &+ rotatedRight(sum, 32 - shifts[step / 16][step % 4]))
            }
            state = [state[0] &+ a, state[1] &+ b, state[2] &+ c, state[3] &+ d]
        }
        return bytes(state.map(\.byteSwapped))
    }

    private static let shifts = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]

    // MARK: SHA-2

    private static func sha256(_ message: [UInt8]) -> [UInt8] {
        let input = padded(message, block: 64, lengthBytes: 8, isBigEndian: true)
        var state: [UInt32] = [
            0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
        ]
        // The constants of SHA-256 are the upper halves of those of SHA-512: both are cube roots of primes.
        let constants = cubeRoots.prefix(64).map { UInt32($0 >> 32) }
        let rotations = Rotations(early: [7, 18], earlyShift: 3, late: [17, 19], lateShift: 10, a: [2, 13, 22], e: [6, 11, 25])
        for start in stride(from: 0, to: input.count, by: 64) {
            let block = (0..<16).map { word(input[(start + $0 * 4)..<(start + $0 * 4 + 4)], as: UInt32.self) }
            compress(block, into: &state, constants, rotations)
        }
        return bytes(state)
    }

    private static func sha512Half(_ message: [UInt8]) -> [UInt8] {
        let input = padded(message, block: 128, lengthBytes: 16, isBigEndian: true)
        var state: [UInt64] = [
            0x2231_2194_FC2B_F72C, 0x9F55_5FA3_C84C_64C2, 0x2393_B86B_6F53_B151, 0x9638_7719_5940_EABD,
            0x9628_3EE2_A88E_FFE3, 0xBE5E_1E25_5386_3992, 0x2B01_99FC_2C85_B8AA, 0x0EB7_2DDC_81C5_2CA2,
        ]
        let rotations = Rotations(early: [1, 8], earlyShift: 7, late: [19, 61], lateShift: 6, a: [28, 34, 39], e: [14, 18, 41])
        for start in stride(from: 0, to: input.count, by: 128) {
            let block = (0..<16).map { word(input[(start + $0 * 8)..<(start + $0 * 8 + 8)], as: UInt64.self) }
            compress(block, into: &state, cubeRoots, rotations)
        }
        return Array(bytes(state).prefix(32))
    }

    /// What tells the two functions apart, besides the width of their words.
    private struct Rotations {
        let early: [Int]
        let earlyShift: Int
        let late: [Int]
        let lateShift: Int
        let a: [Int]
        let e: [Int]
    }

    private static func compress<Word: FixedWidthInteger>(
        _ block: [Word], into state: inout [Word], _ constants: [Word], _ rotations: Rotations
    ) {
        func mixed(_ word: Word, _ counts: [Int]) -> Word { counts.reduce(0) { $0 ^ rotatedRight(word, $1) } }
        var schedule = block
        for index in 16..<constants.count {
            let early = mixed(schedule[index - 15], rotations.early) ^ schedule[index - 15] >> Word(rotations.earlyShift)
            let late = mixed(schedule[index - 2], rotations.late) ^ schedule[index - 2] >> Word(rotations.lateShift)
            schedule.append(schedule[index - 16] &+ early &+ schedule[index - 7] &+ late)
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for (constant, word) in zip(constants, schedule) {
            let first = h &+ mixed(e, rotations.e) &+ (e & f ^ ~e & g) &+ constant &+ word
            let second = mixed(a, rotations.a) &+ (a & b ^ a & c ^ b & c)
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        state = zip(state, [a, b, c, d, e, f, g, h]).map { $0 &+ $1 }
    }
}

extension MessageDigest {
    /// 2³² times the sines of 1 to 64.
    private static let sines: [UInt32] = [
        0xD76A_A478, 0xE8C7_B756, 0x2420_70DB, 0xC1BD_CEEE, 0xF57C_0FAF, 0x4787_C62A, 0xA830_4613, 0xFD46_9501,
        0x6980_98D8, 0x8B44_F7AF, 0xFFFF_5BB1, 0x895C_D7BE, 0x6B90_1122, 0xFD98_7193, 0xA679_438E, 0x49B4_0821,
        0xF61E_2562, 0xC040_B340, 0x265E_5A51, 0xE9B6_C7AA, 0xD62F_105D, 0x0244_1453, 0xD8A1_E681, 0xE7D3_FBC8,
        0x21E1_CDE6, 0xC337_07D6, 0xF4D5_0D87, 0x455A_14ED, 0xA9E3_E905, 0xFCEF_A3F8, 0x676F_02D9, 0x8D2A_4C8A,
        0xFFFA_3942, 0x8771_F681, 0x6D9D_6122, 0xFDE5_380C, 0xA4BE_EA44, 0x4BDE_CFA9, 0xF6BB_4B60, 0xBEBF_BC70,
        0x289B_7EC6, 0xEAA1_27FA, 0xD4EF_3085, 0x0488_1D05, 0xD9D4_D039, 0xE6DB_99E5, 0x1FA2_7CF8, 0xC4AC_5665,
        0xF429_2244, 0x432A_FF97, 0xAB94_23A7, 0xFC93_A039, 0x655B_59C3, 0x8F0C_CC92, 0xFFEF_F47D, 0x8584_5DD1,
        0x6FA8_7E4F, 0xFE2C_E6E0, 0xA301_4314, 0x4E08_11A1, 0xF753_7E82, 0xBD3A_F235, 0x2AD7_D2BB, 0xEB86_D391,
    ]

    /// The first 64 bits of the fractions of the cube roots of the first 80 primes.
    private static let cubeRoots: [UInt64] = [
        0x428A_2F98_D728_AE22, 0x7137_4491_23EF_65CD, 0xB5C0_FBCF_EC4D_3B2F, 0xE9B5_DBA5_8189_DBBC, 0x3956_C25B_F348_B538,
        0x59F1_11F1_B605_D019, 0x923F_82A4_AF19_4F9B, 0xAB1C_5ED5_DA6D_8118, 0xD807_AA98_A303_0242, 0x1283_5B01_4570_6FBE,
        0x2431_85BE_4EE4_B28C, 0x550C_7DC3_D5FF_B4E2, 0x72BE_5D74_F27B_896F, 0x80DE_B1FE_3B16_96B1, 0x9BDC_06A7_25C7_1235,
        0xC19B_F174_CF69_2694, 0xE49B_69C1_9EF1_4AD2, 0xEFBE_4786_384F_25E3, 0x0FC1_9DC6_8B8C_D5B5, 0x240C_A1CC_77AC_9C65,
        0x2DE9_2C6F_592B_0275, 0x4A74_84AA_6EA6_E483, 0x5CB0_A9DC_BD41_FBD4, 0x76F9_88DA_8311_53B5, 0x983E_5152_EE66_DFAB,
        0xA831_C66D_2DB4_3210, 0xB003_27C8_98FB_213F, 0xBF59_7FC7_BEEF_0EE4, 0xC6E0_0BF3_3DA8_8FC2, 0xD5A7_9147_930A_A725,
        0x06CA_6351_E003_826F, 0x1429_2967_0A0E_6E70, 0x27B7_0A85_46D2_2FFC, 0x2E1B_2138_5C26_C926, 0x4D2C_6DFC_5AC4_2AED,
        0x5338_0D13_9D95_B3DF, 0x650A_7354_8BAF_63DE, 0x766A_0ABB_3C77_B2A8, 0x81C2_C92E_47ED_AEE6, 0x9272_2C85_1482_353B,
        0xA2BF_E8A1_4CF1_0364, 0xA81A_664B_BC42_3001, 0xC24B_8B70_D0F8_9791, 0xC76C_51A3_0654_BE30, 0xD192_E819_D6EF_5218,
        0xD699_0624_5565_A910, 0xF40E_3585_5771_202A, 0x106A_A070_32BB_D1B8, 0x19A4_C116_B8D2_D0C8, 0x1E37_6C08_5141_AB53,
        0x2748_774C_DF8E_EB99, 0x34B0_BCB5_E19B_48A8, 0x391C_0CB3_C5C9_5A63, 0x4ED8_AA4A_E341_8ACB, 0x5B9C_CA4F_7763_E373,
        0x682E_6FF3_D6B2_B8A3, 0x748F_82EE_5DEF_B2FC, 0x78A5_636F_4317_2F60, 0x84C8_7814_A1F0_AB72, 0x8CC7_0208_1A64_39EC,
        0x90BE_FFFA_2363_1E28, 0xA450_6CEB_DE82_BDE9, 0xBEF9_A3F7_B2C6_7915, 0xC671_78F2_E372_532B, 0xCA27_3ECE_EA26_619C,
        0xD186_B8C7_21C0_C207, 0xEADA_7DD6_CDE0_EB1E, 0xF57D_4F7F_EE6E_D178, 0x06F0_67AA_7217_6FBA, 0x0A63_7DC5_A2C8_98A6,
        0x113F_9804_BEF9_0DAE, 0x1B71_0B35_131C_471B, 0x28DB_77F5_2304_7D84, 0x32CA_AB7B_40C7_2493, 0x3C9E_BE0A_15C9_BEBC,
        0x431D_67C4_9C10_0D4C, 0x4CC5_D4BE_CB3E_42B6, 0x597F_299C_FC65_7E2A, 0x5FCB_6FAB_3AD6_FAEC, 0x6C44_198C_4A47_5817,
    ]
}
