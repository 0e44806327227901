import CleanSlate
import Foundation
import Glibc
import HTTPTypes
import Testing

@testable @_spi(Transport) import ScopedNet

@Suite(.leavesNothing) struct CURLCommandTests {
    /// What `/bin/sh` prints when it runs the script.
    private func shell(_ script: String) throws -> [UInt8] {
        let pipe = try #require(popen(script, "r"))
        defer { pclose(pipe) }
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&buffer, 1, buffer.count, pipe), count > 0 { output += buffer[..<count] }
        return output
    }

    /// The arguments that a `curl` in the script gets, and its input if it reads any.
    private func run(_ command: CURLCommand) throws -> (arguments: [String], input: [UInt8]) {
        let fake = "curl() { printf '%s\\0' \"$@\"; printf '\\0'; case \"$*\" in *@-) cat;; esac; }\n"
        let output = try shell(fake + command.description)
        var arguments: [String] = []
        var rest = output[...]
        while let end = rest.firstIndex(of: 0), end > rest.startIndex || rest.dropFirst().first != nil {
            // Two NULs in a row end the arguments, unless one of them is empty; none of these tests has such.
            if end == rest.startIndex { break }
            arguments.append(String(decoding: rest[..<end], as: UTF8.self))
            rest = rest[(end + 1)...]
        }
        return (arguments, Array(rest.dropFirst()))
    }

    private func command(
        _ method: String = "GET", _ url: String = "https://a.example/", _ fields: [(String, String)] = [],
        body: CURLCommand.Body = .none, mask: SecretMask = SecretMask()
    ) -> CURLCommand {
        let fields = fields.map { HTTPField(name: HTTPField.Name($0.0)!, value: $0.1) }
        return CURLCommand(method: method, url: url, fields: HTTPFields(fields), body: body, mask: mask)
    }

    // MARK: Quoting

    @Test(arguments: [
        "", " ", "plain", "a b", "'", "''", "'''", "a'b'c", "\"", "\\", "\\'", "$(id)", "`id`", "$HOME", "${x}", "!!", "!$", "a!b",
        "-rf", "--", "-n", "*", "?", "~", "~root", "#x", "a;b", "a&b", "a|b", "<>", "()", "{a,b}", "[a-z]", "=ls", "x=y", "%s%n",
        "\n", "a\nb", "\n\n", "a\n", "\t", "\r", "\r\n", "a\u{1b}[31mb", "\u{1}\u{2}", "\u{7f}", "\u{1b}\n", "\n\u{1b}\n",
        "grüße", "日本語", "👩‍👩‍👧", "e\u{301}", "'\u{301}", "\\\u{301}", "$\u{301}(id)",
        "\u{202e}evil", "\u{85}", "\u{2028}", "\u{fffe}", "\u{e000}",
        "\\033", "$(printf '\\047')", "\"$(id)\"", "a' ; id ; '",
    ])
    func aShellReadsEveryWordBack(_ text: String) throws {
        let word = ShellWord(text).description
        #expect(try shell("printf '%s\\0' \(word)") == Array(text.utf8) + [0], "\(word)")
        #expect(!word.unicodeScalars.contains { $0.properties.generalCategory == .control && $0 != "\n" && $0 != "\t" })
    }

    @Test func aShellReadsEveryByteBack() throws {
        for byte in 1...255 as ClosedRange<UInt8> {
            for bytes in [[byte], [0x61, byte], [byte, 0x61], [0x27, byte, 0x27], [byte, 0xff]] {
                #expect(try shell("printf '%s\\0' \(ShellWord(bytes))") == bytes + [0], "\(bytes)")
            }
        }
    }

    @Test func aShellReadsNoiseBack() throws {
        var generator = SeededGenerator(seed: 11)
        let alphabet: [UInt8] = Array("'\"\\$`!(){}[]*?~#;&|<>=-% \n\t\r012az".utf8) + [0x1b, 0x7f, 0x80, 0xc3, 0xa4, 0xff]
        let words = (0..<400).map { _ in
            (0..<Int.random(in: 0...24, using: &generator)).map { _ in alphabet.randomElement(using: &generator)! }
        }
        for group in stride(from: 0, to: words.count, by: 40).map({ words[$0..<($0 + 40)] }) {
            let script = "printf '%s\\0' " + group.map { ShellWord($0).description }.joined(separator: " ")
            #expect(try shell(script) == group.flatMap { $0 + [0] })
        }
    }

    @Test func harmlessWordsStayAsTheyAre() {
        #expect(ShellWord("https://a.example:8080/path_x-1.html").description == "https://a.example:8080/path_x-1.html")
        #expect(ShellWord("a b").description == "'a b'")
        #expect(ShellWord("").description == "''")
        #expect(ShellWord([0, 0]).description == "''")
    }

    // MARK: Commands

    @Test(arguments: [
        ("GET", false, []), ("POST", true, []), ("POST", false, ["--request", "POST"]), ("GET", true, ["--request", "GET"]),
        ("PUT", true, ["--request", "PUT"]), ("DELETE", false, ["--request", "DELETE"]), ("HEAD", false, ["--head"]),
        ("HEAD", true, ["--request", "HEAD"]),
    ])
    func methods(_ method: String, _ hasBody: Bool, _ words: [String]) throws {
        let command = command(method, body: hasBody ? .bytes([0x78]) : .none)
        let expected = words + ["--url", "https://a.example/"] + (hasBody ? ["--header", "Content-Type:", "--data-raw", "x"] : [])
        #expect(try run(command).arguments == expected)
    }

    @Test func aWholeCommand() {
        let command = command(
            "POST", "https://a.example/it's?q=1#top",
            [("Accept", "*/*"), ("Content-Type", "application/json"), ("Authorization", "Bearer abc"), ("X-Empty", "")],
            body: .bytes(Array(#"{"name":"O'Neil","password":"pw"}"#.utf8)))
        #expect(
            command.description
                == #"curl --url 'https://a.example/it'\''s?q=1' --header 'Accept: */*' --header 'Content-Type: application/json' "#
                + #"--header 'Authorization: Bearer ***' --header 'X-Empty;' --data-raw '{"name":"O'\''Neil","password":"***"}'"#)
    }

    @Test func urlsThatCurlWouldChange() throws {
        #expect(try run(command("GET", "http://[::1]/a{b}")).arguments == ["--globoff", "--url", "http://[::1]/a{b}"])
        #expect(try run(command("GET", "http://a/x/../y")).arguments == ["--path-as-is", "--url", "http://a/x/../y"])
        #expect(try run(command("GET", "-o/etc/passwd")).arguments == ["--url", "-o/etc/passwd"])
    }

    @Test func compressedAnswersAreDecoded() throws {
        #expect(
            try run(command("GET", "http://a/", [("Accept-Encoding", "gzip")])).arguments
                == ["--url", "http://a/", "--header", "Accept-Encoding: gzip", "--compressed"])
    }

    @Test func aTextBodyIsNoFileName() throws {
        let command = command("POST", body: .bytes(Array("@/etc/passwd".utf8)))
        #expect(try run(command).arguments.suffix(2) == ["--data-raw", "@/etc/passwd"])
    }

    @Test func aBinaryBodyComesThroughAPipe() throws {
        let bytes = Array(0...255 as ClosedRange<UInt8>) + [0x0a, 0x0a]
        let result = try run(command("POST", body: .bytes(bytes)))
        #expect(result.arguments.suffix(2) == ["--data-binary", "@-"])
        #expect(result.input == bytes)
    }

    @Test func largeBodiesAreNotShown() throws {
        for (body, note) in [
            (CURLCommand.Body.bytes([UInt8](repeating: 0, count: 2_000)), "2000 bytes"),
            (.bytes([UInt8](repeating: 0x78, count: 20_000)), "20000 bytes"), (.stream, "a stream"),
        ] {
            let command = command("POST", body: body)
            #expect(command.description.hasSuffix(" # body.bin: the body, \(note), not shown"))
            #expect(try run(command).arguments.suffix(2) == ["--data-binary", "@body.bin"])
        }
    }

    @Test func filesAreNamed() throws {
        #expect(try run(command("PUT", body: .file("/tmp/it's me"))).arguments.suffix(2) == ["--data-binary", "@/tmp/it's me"])
        #expect(try run(command("PUT", body: .file("-"))).arguments.suffix(2) == ["--data-binary", "@./-"])
    }

    @Test func fieldsKeepTheirBytes() throws {
        let field = HTTPField(name: HTTPField.Name("X-A")!, value: [0x67, 0x72, 0xfc, 0xdf] as [UInt8])
        let command = CURLCommand(method: "GET", url: "http://a/", fields: [field.name: ""], body: .none)
        #expect(command.description.contains("'X-A;'"))
        var fields = HTTPFields()
        fields.append(field)
        let latin1 = CURLCommand(method: "GET", url: "http://a/", fields: fields)
        let output = try shell("curl() { printf '%s\\0' \"$@\"; }\n" + latin1.description)
        #expect(output.suffix(10) == Array("X-A: gr".utf8) + [0xfc, 0xdf, 0])
    }

    // MARK: Masking

    @Test(arguments: [
        ("Authorization", "Bearer abc", "Bearer ***"), ("authorization", "Basic dTpw", "Basic ***"), ("Authorization", "abc", "***"),
        ("Proxy-Authorization", "Digest a b c", "Digest ***"), ("Cookie", "a=1; b=2", "***"), ("Set-Cookie", "a=1; Path=/", "***"),
        ("X-Api-Key", "abc", "***"), ("X-Auth-Token", "abc", "***"), ("X-CSRF-Token", "abc", "***"), ("X-Custom", "abc", "***"),
        ("Accept", "text/html", "text/html"), ("Content-Type", "application/json", "application/json"),
        ("Referer", "https://u:p@a/?token=1", "https://***@a/?token=***"),
    ])
    func fieldsAreMasked(_ name: String, _ value: String, _ expected: String) {
        let mask = SecretMask(additionalNames: ["X-CUSTOM"])
        #expect(mask.maskedValue(value, ofField: name) == expected)
    }

    @Test(arguments: [
        ("https://a.example/", "https://a.example/"),
        ("https://user@a.example/", "https://***@a.example/"),
        ("https://user:pw@a.example:8080/x", "https://***@a.example:8080/x"),
        ("https://user:p@w@a.example/x", "https://***@a.example/x"),
        ("https://a.example/x@y", "https://a.example/x@y"),
        ("https://a.example?x=@y", "https://a.example?x=@y"),
        ("https://user:pw@\u{301}a.example/", "https://***@\u{301}a.example/"),
        ("user:pw@a.example/x", "***@a.example/x"),
        ("https://a/?token=1&q=2", "https://a/?token=***&q=2"),
        ("https://a/?q=2&API_KEY=1;Access_Token=2", "https://a/?q=2&API_KEY=***;Access_Token=***"),
        (
            "https://a/?X-Amz-Signature=1&X-Amz-Credential=2&X-Amz-Date=3",
            "https://a/?X-Amz-Signature=***&X-Amz-Credential=***&X-Amz-Date=3"
        ),
        ("https://a/?%74oken=1&to%6ben=2&tok%zz=3", "https://a/?%74oken=***&to%6ben=***&tok%zz=3"),
        ("https://a/?sig=1&design=2&pwd=3&auth=4&author=5", "https://a/?sig=***&design=2&pwd=***&auth=***&author=5"),
        ("https://a/?token&token=&token==", "https://a/?token&token=&token=***"),
        ("https://a/?a=token=1", "https://a/?a=token=1"),
        ("https://a/?a=1?token=2", "https://a/?a=1?token=2"),
        ("https://a/#access_token=1&x=2", "https://a/#access_token=***&x=2"),
        ("https://a/?my_own=1", "https://a/?my_own=***"), ("https://ann:s/cret@host/", "(malformed URL)"), ("https://a/@b", "https://a/@b"),
        ("//ann:secret@host/?token=1", "//***@host/?token=***"), ("//ann:s/cret@host/", "(malformed URL)"), ("//host/@b", "//host/@b"),
        ("/path@b", "/path@b"), ("/login?token=1&next=https://h/", "/login?token=***&next=https://h/"),
        ("cb?key=1&u=http://a:b@h/", "cb?key=***&u=http://a:b@h/"), ("", ""),
    ])
    func urlsAreMasked(_ url: String, _ expected: String) {
        #expect(SecretMask(additionalNames: ["my_own"]).maskedURL(url) == expected)
    }

    @Test(arguments: [
        (#"{"user":"u","password":"p"}"#, #"{"user":"u","password":"***"}"#),
        (#"{ "token" : 123 , "x" : true }"#, #"{ "token" : "***" , "x" : true }"#),
        (#"{"secret":null}"#, #"{"secret":"***"}"#),
        (#"{"a":{"apiKey":"x\"y","b":["token"]}}"#, #"{"a":{"apiKey":"***","b":["token"]}}"#),
        (#"{"keys":[1,2],"token":{"secret":"x"}}"#, #"{"keys":[1,2],"token":{"secret":"***"}}"#),
        (#"["password","x"]"#, #"["password","x"]"#),
        (#"{"password":"unfinished"#, #"{"password":"***""#),
        (#"{"password":"#, #"{"password":"#),
        (#"{"password"#, #"{"password"#),
        (#""\"#, #""\"#),
        ("", ""), ("not json", "not json"),
    ])
    func jsonIsMasked(_ text: String, _ expected: String) {
        #expect(SecretMask().maskedJSON(text) == expected)
    }

    @Test func bodiesAreMaskedByTheirType() throws {
        let form = command(
            "POST", "http://a/", [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")],
            body: .bytes(Array("user=u&password=p".utf8)))
        #expect(form.description.hasSuffix("--data-raw 'user=u&password=***'"))
        let json = command(
            "POST", "http://a/", [("Content-Type", "application/vnd.api+json")], body: .bytes(Array(#"{"token":"t"}"#.utf8)))
        #expect(json.description.hasSuffix(#"--data-raw '{"token":"***"}'"#))
        let text = command("POST", "http://a/", [("Content-Type", "text/plain")], body: .bytes(Array("password=p".utf8)))
        #expect(text.description.hasSuffix("--data-raw 'password=p'"))
    }

    @Test func ownWords() {
        let mask = SecretMask(words: ["pin"])
        #expect(mask.maskedURL("https://a/?pin=1&token=2") == "https://a/?pin=***&token=2")
        // An accent behind a delimiter makes another `Character` of it, and is no hiding place.
        #expect(!mask.maskedURL("https://\u{301}user:hunter2@host/").contains("hunter2"))
        #expect(!mask.maskedURL("https://user:hunter2@\u{301}host/").contains("hunter2"))
        #expect(mask.maskedValue("Bearer x", ofField: "Authorization") == "Bearer ***")
    }

    @Test(arguments: [
        ("application/x-www-form-urlencoded", "a=1&token=s", "a=1&token=***"), ("application/json", #"{"token":"s"}"#, #"{"token":"***"}"#),
        ("application/problem+json", #"{"token":"s"}"#, #"{"token":"***"}"#), ("text/plain", #"{"token":"s"}"#, #"{"token":"s"}"#),
        ("text/plain", "token=s", "token=s"),
    ])
    func bodiesAreMaskedByTheirMediaType(type: String, text: String, expected: String) {
        #expect(SecretMask().maskedBody(text, mimeType: type) == expected)
    }

    @Test(arguments: [
        (#"{"":"x","token":"s"}"#, #"{"":"x","token":"***"}"#), (#"{"a\\":"b","token":"s"}"#, #"{"a\\":"b","token":"***"}"#),
        ("{\"token\"\t:\r\"s\"}", "{\"token\"\t:\r\"***\"}"), (#"{"token":!s,"a":1}"#, #"{"token":"***","a":1}"#),
    ])
    func brokenAndUnusualJSONIsMasked(text: String, expected: String) { #expect(SecretMask().maskedJSON(text) == expected) }

    /// 16 KiB of text and 1 KiB of anything else are part of the command, one byte more is not.
    @Test(arguments: [(UInt8(0x78), 16 << 10), (0, 1 << 10)])
    func bodiesAreShownUpToTheirLimit(byte: UInt8, limit: Int) {
        let shown = command("POST", body: .bytes([UInt8](repeating: byte, count: limit))).description
        let omitted = command("POST", body: .bytes([UInt8](repeating: byte, count: limit + 1))).description
        #expect(!shown.contains("body.bin") && omitted.contains("body.bin") && omitted.contains("\(limit + 1) bytes"))
    }

    @Test func aRequestIsShownAsItIsSent() throws {
        func command(_ url: String, _ template: RequestURL, _ body: RequestBody?) -> String {
            let description = RequestDescription(
                url: url, method: .post, headers: [:], body: body, options: OptionsBox(RequestOptions()), destination: nil)
            let template = RequestTemplate(
                url: template, method: .post, fields: [.contentType: "text/plain"], headers: .empty, body: body, options: RequestOptions(),
                transferOptions: TransferOptions(), destination: nil, errorBodyBytes: 0)
            return CURLCommand(description, template).description
        }
        let url = try RequestURL("http://a.example/posts")
        #expect(command("posts", url, .data(Data("text".utf8))).contains("http://a.example/posts"))
        #expect(command("posts", url, .data(Data("text".utf8))).contains("text"))
        #expect(command("posts", url, .file("/tmp/body.txt")).contains("/tmp/body.txt"))
        #expect(!command("posts", url, nil).contains("data"))
        // Malformed, it is shown as it was given.
        #expect(command("http://a b/", .placeholder("http://a b/"), nil).contains("http://a b/"))
    }
}
