import CZlib
import Testing

#if Zstd
import CZstd
#endif

/// Bodies in all codings, and the text they decode to.
enum CodedBodies {
    /// 2,266 bytes.
    static let text: [UInt8] = (1...40).flatMap { line in
        Array("line \(line): the quick brown fox jumps over the lazy dog \(line * 7919 % 1000)\n".utf8)
    }

    /// `text` in brotli, quality 11. The encoder is no dependency of the library.
    static let brotliText = bytes(
        """
        1bd908a09c09364ea877373c3336f538955f1938cd55b541cef0f454d85b82cce5f1fcfb278af4d9bda8078bd0a6803f4dba54a6309481738c054b\
        113907c3e30fe303de8f23cfcbe8fb9b55ee0cfafff7be3adc1383cc6aa13219e8f4344c7291bdc17062096e14c20b073f44a9b892983ac8c505ea\
        3d0fd0dd6e98ce46f694e1b429b88d092f6eecc8aab620ca3bc9c142151ae89506e6bd09b0bb673903c1ed88f0d2c18eaa660aa2de939c5aa88a03\
        5dba618a0eecb506ced51aa9394acddaf8eae9d3f500
        """)

    /// 64 MiB of zeros in brotli, 106 bytes.
    static let brotliZeros = bytes(
        """
        cbffff3ff82700e2b14020f7fe8fffff7ff04f00c4611180eefd1fffffffe09f0088c30200ddfb3ffeffffc13f0110870500baf77ffcffff837f02\
        200e0b0074effff8ffff07ff04401c1600e8defff1ffff0ffe0980382c00d0bdffcbffff3ffc1300715800a07bff07
        """)

    static func gzip(_ bytes: [UInt8]) -> [UInt8] { deflated(bytes, windowBits: 15 + 16) }
    static func deflate(_ bytes: [UInt8]) -> [UInt8] { deflated(bytes, windowBits: 15) }
    static func rawDeflate(_ bytes: [UInt8]) -> [UInt8] { deflated(bytes, windowBits: -15) }

    /// A body, the value of `Content-Encoding` that describes it, and what it is.
    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let encoding: String
        let coded: [UInt8]
        let decoded: [UInt8]

        var testDescription: String { name }
    }

    static let samples: [Sample] = {
        let half = text.count / 2
        var samples = [
            Sample(name: "gzip", encoding: "gzip", coded: gzip(text), decoded: text),
            Sample(name: "x-gzip", encoding: "X-GZip", coded: gzip(text), decoded: text),
            Sample(
                name: "gzip, two members", encoding: "gzip", coded: gzip(Array(text[..<half])) + gzip(Array(text[half...])),
                decoded: text),
            Sample(
                name: "gzip, empty members", encoding: "gzip", coded: gzip([]) + gzip(text) + gzip([]), decoded: text),
            Sample(name: "deflate with its wrapper", encoding: "deflate", coded: deflate(text), decoded: text),
            Sample(name: "bare deflate", encoding: "deflate", coded: rawDeflate(text), decoded: text),
            Sample(name: "gzip of nothing", encoding: "gzip", coded: gzip([]), decoded: []),
            Sample(name: "deflate, gzip", encoding: "deflate, gzip", coded: gzip(deflate(text)), decoded: text),
            Sample(name: "gzip, identity", encoding: "identity ,,gzip, identity", coded: gzip(text), decoded: text),
        ]
        #if Brotli
        samples.append(Sample(name: "br", encoding: "br", coded: brotliText, decoded: text))
        samples.append(Sample(name: "br, gzip", encoding: "br, gzip", coded: gzip(brotliText), decoded: text))
        #endif
        #if Zstd
        samples.append(Sample(name: "zstd", encoding: "zstd", coded: zstd(text), decoded: text))
        samples.append(
            Sample(
                name: "zstd, two frames and a skippable one", encoding: "zstd",
                coded: zstd(Array(text[..<half])) + [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9] + zstd(Array(text[half...])),
                decoded: text))
        samples.append(Sample(name: "gzip, zstd", encoding: "gzip,zstd", coded: zstd(gzip(text)), decoded: text))
        #endif
        return samples
    }()

    #if Zstd
    static func zstd(_ bytes: [UInt8]) -> [UInt8] {
        var coded = [UInt8](repeating: 0, count: ZSTD_compressBound(bytes.count))
        let count = ZSTD_compress(&coded, coded.count, bytes, bytes.count, 3)
        precondition(ZSTD_isError(count) == 0)
        return Array(coded[..<count])
    }
    #endif

    private static func deflated(_ bytes: [UInt8], windowBits: Int32) -> [UInt8] {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        precondition(deflateInit2_(&stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK)
        defer { deflateEnd(&stream) }
        var input = bytes
        var coded = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 32)
        let room = coded.count
        let written = input.withUnsafeMutableBufferPointer { input in
            coded.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(room)
                precondition(CZlib.deflate(&stream, Z_FINISH) == Z_STREAM_END)
                return room - Int(stream.avail_out)
            }
        }
        return Array(coded[..<written])
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }
}
