import CleanSlate
import Testing

@testable import ScopedNet

/// SES-9, YTK-12: names of downloads, from a server's word or a URL, with nothing in them but a name.
@Suite(.leavesNothing) struct DownloadNameTests {
    private func name(_ disposition: String?, url: String = "http://h/a/url.txt?x=/b#/c") -> String {
        DownloadName.name(contentDisposition: disposition, url: url)
    }

    @Test(arguments: [
        ("attachment; filename=a.txt", "a.txt"), ("inline; FileName=\"a b.txt\"", "a b.txt"), ("attachment;filename=\"a\\\"b\"", "a\"b"),
        ("attachment; filename=old; filename*=UTF-8''%e2%82%ac%20rates", "€ rates"),
        ("attachment; filename*=utf-8'en'new.txt; filename=old", "new.txt"), ("attachment; filename*=iso-8859-1''%e9t%E9", "été"),
    ])
    func theServersNameGoesFirst(_ field: String, _ expected: String) {
        #expect(name(field) == expected)
    }

    @Test(arguments: [
        nil, "", "attachment", "attachment; filename=", "attachment; filename=\"..\"", "attachment; filename=\"/\"", "filename=a.txt",
        "attachment; filename*=utf-16''a", "attachment; filename*=UTF-8''%ff", "attachment; filename*=UTF-8''%4",
        "attachment; filename*=iso-8859-1''%4", "attachment; filename*=plain",
    ])
    func withoutOneItIsTheEndOfTheURL(field: String?) {
        #expect(name(field) == "url.txt")
    }

    /// A server that could choose these would choose what another download goes on with.
    @Test(arguments: ["a.iso.scopednet-part", "a.iso.scopednet-resume", "a.scopednet-1-2"]) func ourOwnNamesAreNotForServers(_ text: String)
    {
        let name = name("attachment; filename=\"\(text)\"")
        #expect(!name.contains(".scopednet-") && name.hasPrefix("a"))
    }

    @Test(arguments: [
        ("/f/report.pdf", 1, "/f/report (1).pdf"), ("report.pdf", 12, "report (12).pdf"), ("/f.d/report", 2, "/f.d/report (2)"),
        ("/f/a.tar.gz", 1, "/f/a (1).tar.gz"), ("/f/a.b.gz", 1, "/f/a.b (1).gz"), ("/f/.hidden", 1, "/f/.hidden (1)"),
        ("/f/.tar.gz", 1, "/f/.tar (1).gz"), ("/f/a (1).txt", 1, "/f/a (1) (1).txt"), ("/f/a.", 1, "/f/a (1)."),
    ])
    func aNameThatIsTakenGetsANumber(path: String, number: Int, expected: String) {
        #expect(DownloadName.numbered(path, number) == expected)
    }

    @Test func aNumberedNameIsNoLongerThanANameMayBe() {
        let long = String(repeating: "ü", count: 125) + ".text"
        let numbered = DownloadName.numbered("/f/" + long, 10)
        #expect(numbered.hasPrefix("/f/üü") && numbered.hasSuffix("ü (10).text"))
        #expect(numbered.utf8.count - 3 <= DownloadName.maxBytes && numbered.utf8.count - 3 > DownloadName.maxBytes - 2)
    }

    @Test func aBadExtendedNameLeavesThePlainOne() {
        #expect(name("attachment; filename*=UTF-8''%ff; filename=plain") == "plain")
    }

    @Test(arguments: [
        ("http://h/", "download"), ("http://h", "download"), ("http://h/a/", "download"), ("http://h/%2e%2e", "download"),
        ("http://h/a%2Fb.txt", "b.txt"), ("http://h/a%5Cb.txt", "b.txt"), ("http://h/%C3%BC", "ü"), ("http://h/%FF", "%FF"),
        ("http://h/a%00b", "ab"), ("http://h/x;y=1", "x;y=1"),
    ])
    func urls(_ url: String, _ expected: String) {
        #expect(name(nil, url: url) == expected)
    }

    @Test(arguments: [
        ("../../etc/passwd", "passwd"), ("C:\\\\dir\\\\a.txt", "a.txt"), (".bashrc", "bashrc"), ("...hidden", "hidden"),
        ("a.txt. .", "a.txt"),
        ("a\tb\u{7F}c", "abc"), ("cod\u{202E}txt.exe", "codtxt.exe"), ("a\u{200B}b", "ab"), ("a\u{2066}b\u{FEFF}", "ab"),
        ("folder/", "folder"),
    ])
    func whatIsNoNameIsLeftOut(_ given: String, _ expected: String) {
        #expect(name("attachment; filename=\"\(given)\"") == expected)
    }

    @Test func namesAreAsLongAsLinuxAllowsAndKeepTheirEnding() {
        let long = String(repeating: "a", count: 300)
        #expect(name("attachment; filename=\(long).tar.gz") == String(repeating: "a", count: 252) + ".gz")
        #expect(name("attachment; filename=\(long)").utf8.count == 255)
        // Whole letters only.
        let wide = name("attachment; filename=\"\(String(repeating: "漢", count: 100)).txt\"")
        #expect(wide == String(repeating: "漢", count: 83) + ".txt")
        // What is no ending is no ending.
        #expect(name("attachment; filename=a.\(long)") == "a." + String(repeating: "a", count: 253))
        #expect(name("attachment; filename=\(String(repeating: "b", count: 255))").utf8.count == 255)
    }
}
