import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// Thousands of exchanges with a server whose representations change, break off and lie now and then. Whatever happens, no caller gets bytes of
/// two representations, nor those of another request, nor what it may not have any more.
@Suite(.leavesNothing) struct CacheInvariantTests {
    /// A representation: its bytes follow from its number, so that a wrong one shows.
    private struct Version {
        let number: Int
        let variant: String

        var tag: String { "\"\(number)-\(variant)\"" }
        var body: String {
            String((0..<20).map { Character(Unicode.Scalar(UInt8(97 + (number * 7 + $0 * 5 + variant.utf8.count * 3) % 26))) })
        }
    }

    private static let controls = [
        "max-age=10", "max-age=0", "max-age=10, must-revalidate", "no-cache", "max-age=5, stale-while-revalidate=20",
        "max-age=5, stale-if-error=20",
        "no-store", "max-age=10, immutable", "max-age=x", "private, max-age=30", "no-cache=\"x\", max-age=9",
    ]
    private static let wishes = [
        "", "", "", "", "no-cache", "max-age=0", "max-age=3", "max-stale", "max-stale=5", "min-fresh=3", "no-store", "only-if-cached",
    ]
    private static let ranges = ["", "", "", "bytes=0-4", "bytes=5-", "bytes=-3", "bytes=3-12", "bytes=30-", "bytes=0-1,4-5", "nonsense"]

    @Test(arguments: UInt64(1)...12)
    func nobodyGetsBytesThatDoNotBelongTogether(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var table = CacheTable()
        var number = 0
        for step in 0..<700 {
            table.wait(Double(Int.random(in: 0...6, using: &generator)))
            if Int.random(in: 0..<60, using: &generator) == 0 { table.wait(-1000) }
            if Int.random(in: 0..<6, using: &generator) == 0 { number += 1 }
            table.policy.read =
                Int.random(in: 0..<5, using: &generator) == 0
                ? CachePolicy.ReadMode.allCases.randomElement(using: &generator)! : .validOrNetwork
            let variant = ["", "x", "yy"].randomElement(using: &generator)!
            let method = [HTTPRequest.Method.get, .get, .get, .get, .get, .get, .head, .post].randomElement(using: &generator)!
            var lines: [String] = variant.isEmpty ? [] : ["Foo: \(variant)"]
            let wish = Self.wishes.randomElement(using: &generator)!
            if !wish.isEmpty { lines.append("Cache-Control: \(wish)") }
            let range = Self.ranges.randomElement(using: &generator)!
            if !range.isEmpty { lines.append("Range: \(range)") }
            if Int.random(in: 0..<10, using: &generator) == 0 {
                lines.append("If-None-Match: \(Version(number: number, variant: variant).tag)")
            }
            if Int.random(in: 0..<20, using: &generator) == 0 { lines.append("If-Range: \(Version(number: number, variant: variant).tag)") }
            let control = Self.controls.randomElement(using: &generator)!
            let mood = Int.random(in: 0..<14, using: &generator)
            let cut = Int.random(in: 1..<20, using: &generator)
            let current = Version(number: number, variant: variant)
            let given = table.send(method, "http://a.test/", HTTPFields(lines: lines)) { request in
                Self.reply(request, current, control, mood, cut)
            }
            try check(given, method, variant, step)
            let limit = table.policy.maxVariants + Self.ranges.count
            #expect(table.entries().count <= limit)
        }
    }

    private static func reply(_ request: CacheRequest, _ version: Version, _ control: String, _ mood: Int, _ cut: Int) -> CacheTable.Reply?
    {
        let fields = ["Cache-Control: \(control)", "ETag: \(version.tag)", "Vary: Foo", "Accept-Ranges: bytes"]
        switch mood {
        case 0: return nil
        case 1: return .init(503, HTTPFields(lines: ["Cache-Control: \(control)"]), body: "error")
        default: break
        }
        if request.method == .post { return .init(200, body: "posted") }
        if request.fields.lines(.ifNoneMatch).flatMap(EntityTag.list).contains(where: { $0.description == version.tag }) {
            return .init(304, HTTPFields(lines: fields))
        }
        let broken = mood == 2 ? cut : nil
        let isCurrent = request.fields[.ifRange].map { $0 == version.tag } ?? true
        if request.method == .get, isCurrent, case .single(let spec) = RangeField(request) {
            guard let asked = spec.resolved(length: 20) else { return .init(416, HTTPFields(lines: ["Content-Range: bytes */20"])) }
            let content = ContentRange(range: asked, completeLength: 20).description
            let body = String(version.body.dropFirst(Int(asked.start)).prefix(Int(asked.count)))
            let lie = mood == 3 ? ["Content-Range: bytes 0-0/1"] : ["Content-Range: \(content)", "Content-Length: \(asked.count)"]
            return .init(206, HTTPFields(lines: fields + lie), body: body, brokenAfter: broken.map { min($0, body.utf8.count) })
        }
        return .init(
            200, HTTPFields(lines: fields + ["Content-Length: 20"]), body: request.method == .head ? "" : version.body, brokenAfter: broken)
    }

    /// The tag in the head says which representation it is; the bytes must be its own.
    private func check(_ given: CacheTable.Given, _ method: HTTPRequest.Method, _ variant: String, _ step: Int) throws {
        guard let status = given.status, !given.isBroken, [200, 206].contains(status), method == .get else { return }
        let tag = try #require(given.fields[.eTag])
        let parts = tag.dropFirst().dropLast().split(separator: "-", omittingEmptySubsequences: false)
        let number = try #require(parts.first.flatMap { Int($0) })
        #expect(parts.last.map(String.init) == variant, "step \(step)")
        let whole = Version(number: number, variant: variant).body
        if status == 200 {
            #expect(given.body == whole, "step \(step)")
        } else if let content = ContentRange(given.fields), let range = content.range, content.completeLength != 1 {
            #expect(given.body == String(whole.dropFirst(Int(range.start)).prefix(Int(range.count))), "step \(step)")
        }
    }
}
