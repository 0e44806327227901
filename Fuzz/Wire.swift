@testable import ScopedNet

/// Response heads, line by line as libcurl hands them on.
@Sendable func fuzzResponseHead(_ input: UnsafeRawBufferPointer) {
    var parser = ResponseHeadParser(limits: .init(headBytes: 4096, fields: 40))
    var rest = input[...]
    do throws(ResponseHeadError) {
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
            let line = UnsafeRawBufferPointer(rebasing: rest[rest.startIndex..<end])
            if case .informational(let status) = try parser.receive(line: line) {
                check((100..<200).contains(status) && status != 101, "an interim head has the status \(status)")
            }
            rest = rest[end...]
        }
        let length = try parser.contentLength()
        check(length ?? 0 >= 0, "a negative length")
    } catch {
        _ = "\(error)"
    }
    check((0..<1000).contains(parser.status), "status \(parser.status)")
    for fields in [parser.fields(), parser.trailerFields()] {
        for field in fields {
            check(!field.value.utf8.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D }, "a field holds a line break")
            check(parser.contains(field.name.canonicalName) || fields == parser.trailerFields(), "\(field.name) is listed and not found")
        }
    }
    _ = parser.values(of: "set-cookie")
}

/// Coded bodies: never more than the limits allow, in pieces or at once the same, and an error stays.
@Sendable func fuzzContentCoding(_ input: UnsafeRawBufferPointer) {
    guard let (choice, rest) = input.split else { return }
    let codings = ["gzip", "deflate", "br", "zstd", "gzip, gzip", "deflate, br"]
    let coding = codings[choice % codings.count]
    let limits = DecodingLimits(maxOutputBytes: 1 << 20)
    func decode(pieces: Int) -> (count: Int, isWhole: Bool)? {
        guard let decoder = ContentDecoder.make(for: coding, limits: limits) else { return nil }
        var output: [UInt8] = []
        do throws(ContentDecodingError) {
            var index = 0
            while index < rest.count {
                let end = min(rest.count, index + pieces)
                try decoder.decode(UnsafeRawBufferPointer(rebasing: rest[index..<end]), appendingTo: &output)
                index = end
            }
            try decoder.finish()
            check(output.count <= 1 << 20, "\(output.count) bytes of \(coding) passed the limit")
            return (output.count, true)
        } catch {
            check(output.count <= 1 << 20, "\(output.count) bytes of \(coding) passed the limit")
            return (output.count, false)
        }
    }
    guard let whole = decode(pieces: .max >> 1), let pieces = decode(pieces: 1 + choice / 7) else { return }
    check(whole.isWhole == pieces.isWhole, "\(coding) depends on how it is cut")
    if whole.isWhole { check(whole.count == pieces.count, "\(coding) depends on how it is cut") }
}

/// Dates and delays: what is read is written in the one form to generate, and read back the same.
@Sendable func fuzzDates(_ input: UnsafeRawBufferPointer) {
    let now = HTTPDate(secondsSince1970: 1_800_000_000)
    if let date = HTTPDate(input.text, now: now) {
        let written = date.description
        check(HTTPDate(written, now: now) == date, "\(input.text) became \(written)")
    }
    if let delay = RetryAfter.delay(input.text, now: now, serverDate: HTTPDate(secondsSince1970: 1_799_999_000)) {
        check(delay >= .zero && delay <= .seconds(Int64(1) << 31), "a wait of \(delay)")
    }
}
