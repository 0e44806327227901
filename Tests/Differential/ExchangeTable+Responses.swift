import ScopedNetTestServer

extension ExchangeTable {
    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal)
        return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }

    /// `hello, hello, hello, hello`, coded.
    private enum Coded {
        static let gzip = bytes("1f8b0800000000000203cb48cdc9c9d751c8c0a40055a382771a000000")
        static let zlib = bytes("789ccb48cdc9c9d751c8c0a4007c160935")
        static let deflate = bytes("cb48cdc9c9d751c8c0a400")
        static let brotli = bytes("13190000a440586a90692af19c5e00")
        static let zstd = bytes("28b52ffd201a6d00003868656c6c6f2c2001004a8a11")
        static let gzipTwice = bytes("1f8b080000000000020393efe660000126e6d31e674f9ebc1e78e2c01286d0c54de552404100d9c846fb1d000000")
    }

    static var codings: [Exchange] {
        let plain = Array("hello, hello".utf8)
        let cases: [(String, String, [UInt8])] = [
            ("none", "", plain), ("identity", "identity", plain), ("gzip", "gzip", Coded.gzip), ("x-gzip", "x-gzip", Coded.gzip),
            ("upper", "GZIP", Coded.gzip), ("zlib", "deflate", Coded.zlib), ("rawDeflate", "deflate", Coded.deflate),
            ("br", "br", Coded.brotli), ("zstd", "zstd", Coded.zstd), ("twice", "gzip, gzip", Coded.gzipTwice),
            ("identityGzip", "identity, gzip", Coded.gzip), ("unknown", "strange", plain), ("unknownGzip", "strange, gzip", Coded.gzip),
            ("notGzip", "gzip", plain), ("cut", "gzip", Array(Coded.gzip.dropLast(10))),
            ("noTrailer", "gzip", Array(Coded.gzip.dropLast(8))),
            ("wrongSum", "gzip", Coded.gzip.dropLast(8) + [1, 2, 3, 4, 26, 0, 0, 0]), ("more", "gzip", Coded.gzip + plain),
            ("members", "gzip", Coded.gzip + Coded.gzip), ("empty", "gzip", []), ("brokenBr", "br", plain), ("brokenZstd", "zstd", plain),
            ("emptyValue", " ", plain), ("compress", "compress", plain),
        ]
        let gets = cases.map { name, coding, body in
            let id = "coding/\(name)"
            return Exchange(id, call(id)) { _ in
                let response = ScriptedResponse(body: .bytes(body))
                return coding.isEmpty ? response : response.header("Content-Encoding", coding)
            }
        }
        let heads = [("head", "HEAD", 200), ("204", "GET", 204), ("304", "GET", 304)].map { name, method, status in
            let id = "coding/\(name)"
            return Exchange(id, call(id, method)) { _ in ScriptedResponse(status: status, headers: ["Content-Encoding": "gzip"]) }
        }
        let asked = Exchange("coding/asked", call("coding/asked", fields: [("Accept-Encoding", "gzip")])) { _ in
            ScriptedResponse(headers: ["Content-Encoding": "gzip"], body: .bytes(Coded.gzip))
        }
        let refused = Exchange("coding/refused", call("coding/refused", fields: [("Accept-Encoding", "identity")])) { _ in .ok("plain") }
        return gets + heads + [asked, refused]
    }

    // MARK: Framing

    static var framings: [Exchange] {
        let framings: [(String, ScriptedResponse.Framing)] = [("length", .contentLength), ("chunked", .chunked), ("close", .untilClose)]
        let sizes = framings.flatMap { name, framing in
            [0, 1, 5_000, 300_000].map { count in
                let id = "framing/\(name)-\(count)"
                return Exchange(id, call(id)) { _ in .ok(.repeating(97, count: count)).framed(framing) }
            }
        }
        let bodiless = [("HEAD", 200), ("GET", 204), ("GET", 304), ("HEAD", 404)].flatMap { method, status in
            framings.prefix(2).map { name, framing in
                let id = "framing/\(method)-\(status)-\(name)"
                return Exchange(id, call(id, method)) { _ in
                    ScriptedResponse(status: status, headers: ["X-A": "1"], body: .bytes(Array("body".utf8))).framed(framing)
                }
            }
        }
        let closing = [("closing", ScriptedResponse.End.close), ("kept", .keepAlive)].map { name, end in
            Exchange("framing/\(name)", call("framing/\(name)")) { _ in .ok("body").ending(end) }
        }
        return sizes + bodiless + closing + rawFramings
    }

    private static var rawFramings: [Exchange] {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n"
        return raw(
            "framing",
            [
                ("http10", "HTTP/1.0 200 OK\r\n\r\nuntil close"), ("http10Length", "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody"),
                ("extension", chunked + "4;name=value;x=\"y;z\"\r\nbody\r\n0\r\n\r\n"),
                ("upperHex", chunked + "A\r\n0123456789\r\n0\r\n\r\n"),
                ("zeros", chunked + "0004\r\nbody\r\n000\r\n\r\n"), ("trailer", chunked + "4\r\nbody\r\n0\r\nX-Trailer: 1\r\n\r\n"),
                ("chunkSpace", chunked + "4 \r\nbody\r\n0\r\n\r\n"), ("chunkLF", chunked + "4\nbody\n0\n\n"),
                ("upperCoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n4\r\nbody\r\n0\r\n\r\n"),
                ("continue", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"),
                (
                    "earlyHints",
                    "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nX-A: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-B: 1\r\n\r\nbody"
                ),
                ("lengthAndChunked", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"),
                ("sameLengths", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nbody"),
                ("lengthList", "HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n\r\nbody"),
                ("plusLength", "HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\nbody"),
                ("more", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody and more"),
                ("gzipChunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"),
                ("identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nbody"),
                ("emptyLength", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nbody"),
            ])
    }

    // MARK: Fields

    static var fields: [Exchange] {
        func head(_ lines: String) -> String { "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\(lines)\r\n\r\nbody" }
        return raw(
            "field",
            [
                ("plain", head("X-A: 1")), ("twice", head("X-A: 1\r\nX-A: 2")), ("apart", head("X-A: 1\r\nX-B: 2\r\nx-a: 3")),
                ("empty", head("X-A:")), ("emptyTwice", head("X-A:\r\nX-A:")), ("noSpace", head("X-A:1")), ("tabs", head("X-A:\t1\t")),
                ("spaces", head("X-A:   1 2   ")), ("fold", head("X-A: 1\r\n 2")), ("foldTab", head("X-A: 1\r\n\t2\r\nX-B: 3")),
                ("utf8", head("X-A: é")), ("colons", head("X-A: a:b: c")), ("quotes", head("X-A: \"a, b\"; c")),
                ("upper", head("X-UPPER-CASE: 1")), ("odd", head("X-!#$%&'*+.^_`|~9: 1")),
                ("long", head("X-A: " + String(repeating: "v", count: 20_000))),
                ("many", head((0..<200).map { "X-N\($0): \($0)" }.joined(separator: "\r\n"))),
                ("lf", "HTTP/1.1 200 OK\nContent-Length: 4\nX-A: 1\n\nbody"),
                ("spaceBeforeColon", head("X-A : 1")), ("spaceInName", head("X A: 1\r\nX-B: 2")), ("noName", head(": 1\r\nX-B: 2")),
                ("control", head("X-A: a\u{1}b")), ("delete", head("X-A: a\u{7F}b")), ("comma", head("X-A: , ,\r\nX-A: 1")),
                ("reason", "HTTP/1.1 200 Everything is fine: really\r\nContent-Length: 4\r\nX-A: 1\r\n\r\nbody"),
                ("noReason", "HTTP/1.1 200 \r\nContent-Length: 4\r\nX-A: 1\r\n\r\nbody"),
                ("noReasonSpace", "HTTP/1.1 200\r\nContent-Length: 4\r\nX-A: 1\r\n\r\nbody"),
            ]) + [latin] + sent
    }

    private static var latin: Exchange {
        Exchange("field/latin", call("field/latin")) { _ in
            .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A: ".utf8) + [0xE9] + Array("\r\n\r\nbody".utf8))
        }
    }

    /// Fields of requests.
    private static var sent: [Exchange] {
        let cases: [(String, [(String, String)])] = [
            ("plain", [("X-A", "1")]), ("twice", [("X-A", "1"), ("X-A", "2")]), ("empty", [("X-A", "")]), ("spaces", [("X-A", "a  b")]),
            ("umlaut", [("X-A", "é")]), ("quotes", [("X-A", "\"a, b\"")]), ("agent", [("User-Agent", "mine/1")]),
            ("accept", [("Accept", "a/b")]),
            ("language", [("Accept-Language", "eo")]), ("host", [("Host", "example.com")]), ("connection", [("Connection", "close")]),
            ("te", [("TE", "trailers")]), ("expect", [("Expect", "100-continue")]), ("cookie", [("Cookie", "a=1; b=2")]),
            ("cookies", [("Cookie", "a=1"), ("Cookie", "b=2")]), ("long", [("X-A", String(repeating: "v", count: 8_000))]),
            ("range", [("If-None-Match", "\"a\"")]),
        ]
        return cases.map { name, fields in
            let id = "sent/\(name)"
            return Exchange(id, call(id, fields: fields)) { _ in .ok("done") }
        }
    }

    // MARK: What is no HTTP

    static var malformed: [Exchange] {
        let faults = FramingFault.allCases.map { fault in
            Exchange("malformed/\(fault)", call("malformed/\(fault)")) { _ in .malformed(fault) }
        }
        let cut = [
            ("beforeHead", ScriptedResponse.End.hangUp), ("reset", .reset(afterBytes: 10)), ("truncated", .truncate(afterBytes: 10)),
        ].map {
            name, end in
            Exchange("malformed/\(name)", call("malformed/\(name)")) { _ in .ok(.repeating(97, count: 1_000)).ending(end) }
        }
        let chunkedCut = Exchange("malformed/chunkedReset", call("malformed/chunkedReset")) { _ in
            .ok(.repeating(97, count: 1_000)).framed(.chunked).ending(.truncate(afterBytes: 10))
        }
        return faults + cut + [chunkedCut] + rawMalformed
    }

    private static var rawMalformed: [Exchange] {
        let tail = "\r\nContent-Length: 4\r\n\r\nbody"
        return raw(
            "malformed",
            [
                ("http09", "<html>hello</html>"), ("version2", "HTTP/2.0 200 OK" + tail), ("version12", "HTTP/1.2 200 OK" + tail),
                ("version3digits", "HTTP/1.1.1 200 OK" + tail), ("lowerCase", "http/1.1 200 OK" + tail),
                ("status2digits", "HTTP/1.1 20 OK" + tail),
                ("status4digits", "HTTP/1.1 2000 OK" + tail), ("statusLetters", "HTTP/1.1 2OO OK" + tail), ("noStatus", "HTTP/1.1" + tail),
                ("status0", "HTTP/1.1 000 OK" + tail), ("twoSpaces", "HTTP/1.1  200  OK" + tail), ("tab", "HTTP/1.1\t200\tOK" + tail),
                ("leadingLine", "\r\nHTTP/1.1 200 OK" + tail), ("leadingSpace", " HTTP/1.1 200 OK" + tail),
                ("foldFirst", "HTTP/1.1 200 OK\r\n X-A: 1" + tail), ("bareCR", "HTTP/1.1 200 OK\r\nX-A: a\rb" + tail),
                ("hugeLength", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nbody"),
                ("hexLength", "HTTP/1.1 200 OK\r\nContent-Length: 0x4\r\n\r\nbody"),
                ("hugeChunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nbody\r\n0\r\n\r\n"),
                ("negativeChunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-4\r\nbody\r\n0\r\n\r\n"),
                ("emptyChunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nbody\r\n0\r\n\r\n"),
                (
                    "twoTransferCodings",
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
                ),
                ("strangeCoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: strange\r\n\r\nbody"),
                ("interimAlone", "HTTP/1.1 100 Continue\r\n\r\n"), ("switching", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
                ("hugeHead", "HTTP/1.1 200 OK\r\nX-A: " + String(repeating: "a", count: 400_000) + tail),
            ])
    }

    static func raw(_ group: String, _ cases: [(String, String)]) -> [Exchange] {
        cases.map { name, text in
            let id = "\(group)/\(name)"
            return Exchange(id, call(id)) { _ in .raw(text) }
        }
    }
}
