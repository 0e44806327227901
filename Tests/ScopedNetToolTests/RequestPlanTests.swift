import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNetTool

@Suite(.leavesNothing) struct RequestItemTests {
    @Test(arguments: [
        ("name=Ann", RequestItem.Kind.text, "name", "Ann"), ("name=", .text, "name", ""), ("a=b=c", .text, "a", "b=c"),
        ("a=b:c@d", .text, "a", "b:c@d"),
        ("n:=3", .json, "n", "3"), ("q==1", .query, "q", "1"), ("q===1", .query, "q", "=1"), ("X-A:b", .header, "X-A", "b"),
        ("X-A: b=c", .header, "X-A", " b=c"), ("f@/a/b", .file, "f", "/a/b"), ("t=@file", .textFile, "t", "file"),
        ("j:=@file", .jsonFile, "j", "file"), (#"a\=b=c"#, .text, "a=b", "c"), (#"a\:b:c"#, .header, "a:b", "c"),
        (#"a\b=c"#, .text, #"a\b"#, "c"), (#"a\\=c"#, .text, #"a\"#, "c"), ("ä=ö", .text, "ä", "ö"), ("a b=c d", .text, "a b", "c d"),
    ])
    func itemsAreSplitAtTheirFirstSeparator(_ text: String, _ kind: RequestItem.Kind, _ name: String, _ value: String) throws {
        let item = try #require(RequestItem(text))
        #expect(item.kind == kind && item.name == name && item.value == value)
    }

    @Test(arguments: ["", "name", "=x", ":x", "@x", "==x", ":=1", #"\"#, #"a\=b"#]) func whatHasNoNameOrSeparatorIsNone(_ text: String) {
        #expect(RequestItem(text) == nil)
    }

    @Test(
        arguments: [
            ("f@a.bin", "a.bin", nil), ("f@a.bin;type=x/y", "a.bin", "x/y"), ("f@a;type=b;type=c/d", "a;type=b", "c/d"),
            ("f@a;x=1", "a;x=1", nil),
        ] as [(String, String, String?)])
    func aFileMayHaveAType(_ text: String, _ path: String, _ type: String?) throws {
        let file = try #require(RequestItem(text)).file
        #expect(file.path == path && file.type == type)
    }
}

@Suite(.leavesNothing) struct RequestPlanTests {
    private func items(_ plan: RequestPlan) -> (String, Int) {
        switch plan.content {
        case .none: ("none", 0)
        case .data(let text): ("data", text.utf8.count)
        case .json(let items): ("json", items.count)
        case .form(let items): ("form", items.count)
        case .multipart(let items): ("multipart", items.count)
        }
    }

    @Test(
        arguments: [
            ([], nil, false, false, "none"), (["q==1", "A:b"], nil, false, false, "none"), (["a=1", "b:=2"], nil, false, false, "json"),
            (["a=1"], nil, true, false, "form"), ([], nil, true, false, "form"), (["a=1"], nil, false, true, "multipart"),
            (["a=1", "f@x"], nil, false, false, "multipart"), (["q==1"], "x", false, false, "data"),
        ] as [([String], String?, Bool, Bool, String)])
    func theItemsSayWhatTheBodyIs(_ texts: [String], _ data: String?, _ isForm: Bool, _ isMultipart: Bool, _ kind: String) throws {
        let plan = try RequestPlan(items: texts, data: data, isForm: isForm, isMultipart: isMultipart)
        #expect(items(plan).0 == kind)
    }

    @Test(
        arguments: [
            (["a=1"], "x", false, false, "--data"), ([], "x", true, false, "--data"), ([], nil, true, true, "--multipart"),
            (["f@x"], nil, true, false, "--multipart"), (["a:=1"], nil, true, false, "a=VALUE"),
            (["a:=1", "f@x"], nil, false, false, "a=VALUE"),
            (["noitem"], nil, false, false, "noitem"), (["Bad Name:x"], nil, false, false, "Name:value"),
            (["A:b\nc"], nil, false, false, "Name:value"),
        ] as [([String], String?, Bool, Bool, String)])
    func whatDoesNotGoTogetherIsSaid(_ items: [String], _ data: String?, _ isForm: Bool, _ isMultipart: Bool, _ word: String) {
        let misuse = #expect(throws: RequestPlan.Misuse.self) {
            try RequestPlan(items: items, data: data, isForm: isForm, isMultipart: isMultipart)
        }
        #expect(misuse?.message.contains(word) == true && misuse?.message.hasSuffix(".") == true, "\(misuse?.message ?? "")")
    }

    @Test func typesAreThereUnlessGiven() throws {
        let json = try RequestPlan(items: ["a=1"])
        let asked = try RequestPlan(items: ["a=1", "Accept:text/plain"])
        let given = try RequestPlan(data: "x", givenFields: ["content-type"])
        let form = try RequestPlan(data: "x")
        #expect(json.fields[.accept] == "application/json, */*;q=0.5" && asked.fields[.accept] == "text/plain")
        #expect(given.fields.isEmpty && form.fields[.contentType] == "application/x-www-form-urlencoded")
    }

    @Test func aBodyMakesAPOSTOfAGET() throws {
        let (bare, full) = (try RequestPlan(), try RequestPlan(items: ["a=1"]))
        #expect(bare.method(nil, of: .get) == .get && full.method(nil, of: .get) == .post && full.method(nil, of: .put) == .put)
        #expect(full.method(.patch, of: .get) == .patch && bare.method(nil, of: .post) == .post)
    }

    @Test(arguments: [
        ("http://h/", "http://h/?q=a%20b&q=%26"), ("http://h/?x", "http://h/?x&q=a%20b&q=%26"), ("http://h/?", "http://h/?q=a%20b&q=%26"),
        ("http://h/#f?g", "http://h/?q=a%20b&q=%26#f?g"),
    ])
    func theQueryGoesBehindTheOneThereIs(_ url: String, _ expected: String) throws {
        let plan = try RequestPlan(items: ["q==a b", "q==&"])
        let bare = try RequestPlan()
        #expect(plan.url(url) == expected && bare.url(url) == url)
    }
}

@Suite(.leavesNothing) struct ByteRateTests {
    @Test(arguments: [
        ("1", 1), ("4096", 4_096), ("200k", 204_800), ("200K", 204_800), ("1.5M", 1_572_864), ("2g", 2 << 30), ("7b", 7), ("0.5k", 512),
    ])
    func ratesAreRead(_ text: String, _ bytes: Int) { #expect(ByteRate(text)?.bytes == bytes) }

    @Test(arguments: ["", "k", "0", "-1", "+1", "0.1", "1e3", "1kk", "nan", "inf", "0x10", "1 k", "1.2.3", "999999999g", "１"])
    func whatIsNoRateIsNone(_ text: String) { #expect(ByteRate(text) == nil) }
}

@Suite(.leavesNothing) struct RemoteNameTests {
    @Test(arguments: [
        ("http://h/a.txt", "a.txt"), ("http://h/x/a%20b?c/d#e/f", "a b"), ("https://h/a..", "a.."), ("http://h/%C3%A4", "ä"),
    ])
    func theLastSegmentIsTheName(_ url: String, _ name: String) { #expect(RemoteName.of(url) == name) }

    @Test(arguments: [
        "http://h", "http://h/", "http://h/a/", "http://h/..", "http://h/%2E%2E", "http://h/a%2Fb", "http://h/%2Fetc%2Fpasswd",
        "http://h/a%00",
        "http://h/a%0Ab", "http://h/%", "http://h/%FF", "h/a", "http://h?/a", "http://h/." + String(repeating: "x", count: 255),
    ])
    func whatLeadsElsewhereIsNone(_ url: String) { #expect(RemoteName.of(url) == nil) }
}
