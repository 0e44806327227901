import CleanSlate
import HTTPTypes
import ScopedNet
import Testing

/// Whatever a server or a caller writes, and wherever the clock jumps: there is an answer, it has as many bytes as it says, and none is
/// taken from where nothing is stored.
@Suite(.leavesNothing) struct CacheHostileInputTests {
    private static let numbers = [
        "0", "1", "-1", "5", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "99999999999999999999999999", "1e9",
        "0x10",
        "1.5", "+5", " 5", "\u{664}",
    ]

    private static let dates = [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 0000 00:00:00 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Thu, 30 Feb 2027 00:00:00 GMT", "0", "-1", "", "Wed, 14 Jan 2026 00:00:60 GMT", "Thu Aug  8 02:01:18 2050",
    ]

    private static let texts = [
        "", " ", ",", ",,,", "\"", "\\", "\"\\", "*", "=", ";", "a=\"b", "\u{FF}", "W/", "W/\"", "\"\"", "W/\"\"", "\"a\"", "\"a,b\"",
        "bytes",
        "bytes=", "bytes=-", "bytes 0-0/1", "bytes */*", "bytes 0-9223372036854775807/*", "bytes 5-4/10", "none", "//", "http://",
        "http://[",
        "%", "../..", "?", "http://origin.test/resource/0", "//other.test/",
    ]

    private static let ranges = [
        "bytes=0-0", "bytes=0-", "bytes=-0", "bytes=-1", "bytes=1-0", "bytes=9223372036854775807-", "bytes=-9223372036854775807",
        "bytes=0-9223372036854775807", "bytes=0-0,0-0", "bytes=99999999999999999999-", "items=0-1", "bytes=0-1,", "bytes = 0-1",
    ]

    private static let directives = [
        "no-store", "no-cache", "no-cache=\"\"", "no-cache=\"a", "no-cache=\"set-cookie, x-a\"", "private", "private=\"a\"", "public",
        "immutable",
        "must-revalidate", "must-understand", "only-if-cached", "max-stale", "max-age", "max-age=", "max-age=\"", "s-maxage=1", "=1",
        "\"max-age=1\"",
    ]

    private static let names = [
        "Cache-Control", "Expires", "Date", "Age", "ETag", "Last-Modified", "Vary", "Content-Length", "Content-Range", "Accept-Ranges",
        "Connection",
        "Content-Location", "Location", "Transfer-Encoding", "Pragma", "X-A", "Content-Encoding",
    ]

    private static let requestNames = [
        "Cache-Control", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "Pragma",
        "Accept-Language",
        "Accept-Encoding", "Cookie", "Authorization", "X-A",
    ]

    private static let statuses = [100, 103, 199, 200, 204, 206, 226, 301, 304, 404, 412, 416, 500, 503, 504, 599, 600, 999, 0, -1]

    private static func soup(_ names: [String], _ random: inout SplitMix64) -> HTTPFields {
        var fields = HTTPFields()
        for _ in 0..<Int.random(in: 0...7, using: &random) {
            let text =
                switch Int.random(in: 0..<6, using: &random) {
                case 0: random.pick(numbers)
                case 1: random.pick(dates)
                case 2: random.pick(directives) + random.pick(["", ", ", ","]) + random.pick(directives)
                case 3:
                    random.pick(["max-age=", "stale-while-revalidate=", "stale-if-error=", "max-stale=", "min-fresh="])
                        + random.pick(numbers)
                case 4: random.pick(ranges)
                default: random.pick(texts) + random.pick(["", random.pick(texts)])
                }
            if let name = HTTPField.Name(random.pick(names)) { fields.append(HTTPField(name: name, value: text)) }
        }
        return fields
    }

    private static let times = [-1e300, -1e18, -1, 0, 1, 1_800_000_000, 1_800_000_060, 253_402_300_800, 1e18, 1e300]

    private static let policies: [CachePolicy] = CachePolicy.ReadMode.allCases.flatMap { read in
        [nil, Duration.zero, .seconds(-5), .seconds(Int64.max), .seconds(60)].flatMap { lifetime in
            [-1, 0, 1, 16].map { variants in
                var policy = CachePolicy.standard
                policy.read = read
                policy.timeToLive = lifetime
                policy.maxVariants = variants
                return policy
            }
        }
    }

    @Test func thereIsAnAnswerToEverything() {
        var random = SplitMix64(seed: 4)
        var impossible: [String] = []
        var answers = 0
        var reuses = 0
        for _ in 0..<300 {
            var cache = PureCache()
            var now = WallTime(secondsSince1970: 1_800_000_000)
            for _ in 0..<25 {
                let request = CacheRequest(
                    method: random.pick([.get, .get, .get, .head, .post, .put, .options]),
                    url: random.pick(["http://origin.test/", "http://origin.test/", "http://origin.test/?a", "http://u@origin.test:80/#f"]),
                    fields: Self.soup(Self.requestNames, &random))
                let bodyLength = request.method == .head ? 0 : Int.random(in: 0...12, using: &random)
                var wasAsked = false
                let answer = try? cache.exchange(request, policy: random.pick(Self.policies), now: now) { _ in
                    wasAsked = true
                    if random.chance(10) { return .failed(at: now) }
                    let responseTime = random.chance(10) ? WallTime(secondsSince1970: random.pick(Self.times)) : now
                    return .response(
                        .init(
                            head: CacheHead(status: random.pick(Self.statuses), fields: Self.soup(Self.names, &random)),
                            body: Array(repeating: 65, count: bodyLength), isComplete: random.chance(80), requestTime: now,
                            responseTime: responseTime))
                }
                now =
                    random.chance(10)
                    ? WallTime(secondsSince1970: random.pick(Self.times)) : now + Double(Int.random(in: 0...9, using: &random))
                guard let answer else { continue }
                answers += 1
                if request.method == .head, !answer.body.isEmpty { impossible.append("a HEAD with a body: \(answer.head)") }
                // What is no number is the transport's to refuse.
                let digits = answer.head.fields[.contentLength].flatMap { $0.allSatisfy(\.isNumber) ? Int($0) : nil }
                guard !wasAsked, request.method != .head, let length = digits else { continue }
                reuses += 1
                if answer.head.status != 304, length != answer.body.count {
                    impossible.append("\(answer.body.count) bytes: \(answer.head)")
                }
            }
        }
        #expect(impossible == [])
        #expect(answers > 5000)
        #expect(reuses > 50)
    }
}
