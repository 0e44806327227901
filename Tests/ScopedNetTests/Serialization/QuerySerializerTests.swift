import CleanSlate
import FoundationEssentials
import ScopedNet
import Testing

/// What queries look like: REQ-11, REQ-12, REQ-13, REQ-14, REQ-15, REQ-16, REQ-17, REQ-21.
@Suite(.leavesNothing) struct QuerySerializerTests {
    private static func query(_ values: [String: ParameterValue], _ change: (inout Parameters.Style) -> Void = { _ in }) throws -> String {
        var style = Parameters.Style()
        change(&style)
        let query = try QuerySerializer(style).string(from: Parameters(values))
        // Read as a person would write it; the escaping of brackets has a test of its own.
        return query.replacing("%5B", with: "[").replacing("%5D", with: "]")
    }

    // REQ-11
    @Test(
        arguments: [
            (["a": ["b": ["c": 1]]], "a[b][c]=1"),
            (["a": ["x", "y", "x"]], "a[]=x&a[]=y&a[]=x"),
            (["a": [["x": 1], ["y": 2]]], "a[][x]=1&a[][y]=2"),
            (["a": [[1, 2], [3]]], "a[][]=1&a[][]=2&a[][]=3"),
            (["a": .set(["y", "x"])], "a=x&a=y"),
            (["a": ["b": .set([2, 1])]], "a[b]=1&a[b]=2"),
            (["a": [.set(["z", "y"])]], "a[]=y&a[]=z"),
        ] as [([String: ParameterValue], String)])
    func nestedNamesAreFlattened(_ values: [String: ParameterValue], _ query: String) throws {
        let written = try Self.query(values)
        #expect(written == query)
    }

    // REQ-12
    @Test func namesAscendAtEveryLevelAndArraysKeepTheirOrder() throws {
        let parameters: [String: ParameterValue] = ["b": 1, "_": 2, "B": 3, "1": 4, "a": ["z": 1, "Z": 2, "9": 3], "list": [3, 1, 2]]
        let written = try Self.query(parameters)
        #expect(written == "1=4&B=3&_=2&a[9]=3&a[Z]=2&a[z]=1&b=1&list[]=3&list[]=1&list[]=2")
    }

    // REQ-12: by the name itself, not by its escaped form, in which "!" would come before "A" and "é" before both.
    @Test func namesAreSortedBeforeTheyAreEscaped() throws {
        let written = try Self.query(["é": 1, "z": 2, "!": 3, "A": 4])
        #expect(written == "%21=3&A=4&z=2&%C3%A9=1")
    }

    // REQ-13
    @Test(
        arguments: [
            (["a": nil], "a"), (["a": ""], "a="), (["a": []], ""), (["a": [:]], ""), (["a": .set([])], ""), ([:], ""),
            (["a": [nil, "", "x"]], "a[]&a[]=&a[]=x"), (["a": ["b": nil]], "a[b]"), (["a": [], "b": 1], "b=1"),
        ] as [([String: ParameterValue], String)])
    func nullAndEmptyAreToldApart(_ values: [String: ParameterValue], _ query: String) throws {
        let written = try Self.query(values)
        #expect(written == query)
    }

    // REQ-13, the option
    @Test func emptyArraysAreWrittenIfAsked() throws {
        let written = try Self.query(["a": [], "b": ["c": []]]) { $0.writesEmptyArrays = true }
        #expect(written == "a[]=&b[c][]=")
    }

    // REQ-15
    @Test(
        arguments: [
            (true, "1"), (false, "0"), (3.0, "3"), (-2.0, "-2"), (0.5, "0.5"), (-0.0, "0"), (1e20, "1e+20"),
            (.integer(.min), "-9223372036854775808"), (9_007_199_254_740_991.0, "9007199254740991"),
            // From here on not every whole number is one.
            (9_007_199_254_740_992.0, "9007199254740992.0"),
            (.integer(exactly: UInt64.max), "18446744073709551615"), ("3.0", "3.0"),
        ] as [(ParameterValue, String)])
    func scalarsHaveOneForm(_ value: ParameterValue, _ text: String) throws {
        let written = try QuerySerializer.standard.string(from: ["a": value]).replacing("%2B", with: "+")
        #expect(written == "a=" + text)
    }

    /// Scalars by what they are, all else by names and values: an order that does not change from run to run.
    @Test(
        arguments: [
            (.set(["A", ["k": 1]]), "a=A&a[k]=1"), (.set(["z", ["k": 1]]), "a[k]=1&a=z"), (.set([["l": 2], ["k": 3]]), "a[k]=3&a[l]=2"),
        ] as [(ParameterValue, String)])
    func setsOfAllKindsHaveAnOrder(_ set: ParameterValue, _ query: String) throws {
        let written = try Self.query(["a": set])
        #expect(written == query)
    }

    private static let wrappers: [@Sendable (ParameterValue) -> ParameterValue] = [{ [$0] }, { ["k": $0] }, { .set([$0]) }]

    @Test(arguments: wrappers.indices) func nestingHasABoundForContainersOfAllKinds(_ index: Int) throws {
        var value: ParameterValue = 1
        for _ in 1..<512 { value = Self.wrappers[index](value) }
        let whole = try QuerySerializer.standard.string(from: ["a": value])
        #expect(whole.hasSuffix("=1"))
        let deep: Parameters = ["a": Self.wrappers[index](value)]
        let error = #expect(throws: NetworkError.self) { try QuerySerializer.standard.string(from: deep) }
        #expect(error?.code == .invalidParameters)
    }

    @Test func otherStylesAreThere() throws {
        let parameters: [String: ParameterValue] = ["a": [true, false], "b": [["c": 1]]]
        let written = try Self.query(parameters) { style in
            style.arrays = .repeated
            style.booleans = .words
        }
        #expect(written == "a=true&a=false&b[c]=1")
    }

    // REQ-14
    @Test func whatAQueryMayHoldStaysAndAllElseIsEscaped() {
        let kept = "ABCXYZabcxyz0189-._~/?"
        #expect(PercentEncoding.escaped(kept) == kept)
        let reserved = PercentEncoding.escaped(":#[]@!$&'()*+,;= %\"<>\\^`{|}\u{0}\r\n\u{7F}")
        #expect(
            reserved
                == "%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%20%25%22%3C%3E%5C%5E%60%7B%7C%7D%00%0D%0A%7F")
        #expect(PercentEncoding.escaped("é👨‍👩‍👧") == "%C3%A9%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7")
        #expect(PercentEncoding.escaped("%20") == "%2520")
        #expect(PercentEncoding.escaped([0x00, 0xFF, 0x41]) == "%00%FFA")
    }

    // REQ-14: a name's brackets too, and a long text over the 50 units others cut it at.
    @Test func namesAreEscapedLikeValues() throws {
        let long = String(repeating: "👩‍👩‍👧‍👦", count: 100)
        let written = try QuerySerializer.standard.string(from: ["a[0]&b": ["c=d": long]])
        #expect(written.hasPrefix("a%5B0%5D%26b%5Bc%3Dd%5D="))
        let value = try #require(written.split(separator: "=").last)
        #expect(PercentEncoding.unescaped(String(value)) == long)
    }

    @Test(arguments: [("a%20b+c", "a b+c"), ("%C3%a9", "é"), ("", "")])
    func unescapingUndoesIt(_ text: String, _ expected: String) { #expect(PercentEncoding.unescaped(text) == expected) }

    @Test(arguments: ["%", "%2", "%G0", "%0G", "%-1", "%FF", "%C3", "a%C3b"])
    func whatIsNotEscapedProperlyIsNil(_ text: String) { #expect(PercentEncoding.unescaped(text) == nil) }

    // REQ-16
    @Test func aQueryOfOnesOwnIsTakenAsItIs() throws {
        let serializer = QuerySerializer.custom { parameters in parameters.values.keys.sorted().joined(separator: ",") }
        let written = try serializer.string(from: ["b": 1, "a": 2])
        #expect(written == "a,b")
    }

    // REQ-16
    @Test func itsErrorIsKept() throws {
        struct Mine: Error {}
        let serializer = QuerySerializer.custom { _ in throw Mine() }
        let error = #expect(throws: NetworkError.self) { try serializer.string(from: ["a": 1]) }
        #expect(error?.code == .invalidParameters && error?.underlying is Mine)
    }

    // REQ-17, defect 12
    @Test(arguments: [
        ("http://h/p", "http://h/p?a=1"), ("http://h/p?", "http://h/p?a=1"), ("http://h/p?x=2", "http://h/p?x=2&a=1"),
        ("http://h/p?x=2&", "http://h/p?x=2&a=1"), ("http://h/p#f", "http://h/p?a=1#f"), ("http://h/p?x#f?g", "http://h/p?x&a=1#f?g"),
        ("http://h/p?#f", "http://h/p?a=1#f"), ("http://h/a&", "http://h/a&?a=1"), ("items", "items?a=1"), ("", "?a=1"),
        ("#f", "?a=1#f"), ("http://h/p?\u{301}", "http://h/p?\u{301}&a=1"),
    ])
    func itGoesBehindTheQueryAndBeforeTheFragment(_ url: String, _ expected: String) throws {
        let written = try QuerySerializer.standard.appending(["a": 1], to: url)
        #expect(written == expected)
    }

    // REQ-7: an empty dictionary adds no "?".
    @Test(arguments: ["http://h/p", "http://h/p?", "http://h/p#f"])
    func anEmptyQueryChangesNothing(_ url: String) throws {
        let none = try QuerySerializer.standard.appending([:], to: url)
        let empty = try QuerySerializer.standard.appending(["a": [] as [String], "b": nil], to: url)
        #expect(none == url && empty == url)
    }

    @Test func aQueryThatWouldEndItselfIsRefused() {
        let serializer = QuerySerializer.custom { _ in "a#b" }
        let error = #expect(throws: NetworkError.self) { try serializer.appending(["a": 1], to: "/") }
        #expect(error?.code == .invalidParameters)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func numbersThatAreNoneAreRefused(_ number: Double) {
        let error = #expect(throws: NetworkError.self) { try QuerySerializer.standard.string(from: ["a": [number]]) }
        #expect(error?.code == .invalidParameters)
    }

    @Test func nestingHasABound() throws {
        var value: ParameterValue = 1
        for _ in 0..<511 { value = [value] }
        let fits: Parameters = ["a": value]
        _ = try QuerySerializer.standard.string(from: fits)
        let deep: Parameters = ["a": [value] as ParameterValue]
        let error = #expect(throws: NetworkError.self) { try QuerySerializer.standard.string(from: deep) }
        #expect(error?.code == .invalidParameters)
    }

    @Test func ofEqualNamesInALiteralTheLastCounts() throws {
        let written = try QuerySerializer.standard.string(from: ["a": 1, "a": 2, "b": ["c": 1, "c": 2] as ParameterValue])
        #expect(written == "a=2&b%5Bc%5D=2")
    }

    @Test func bytesAreEscapedAsTheyAre() throws {
        let written = try QuerySerializer.standard.string(from: ["a": Data([0x00, 0x41, 0xFF])])
        #expect(written == "a=%00A%FF")
    }
}
