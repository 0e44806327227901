import CCurl
import CleanSlate
import HTTPTypes
import Testing

@_spi(Transport) @testable import ScopedNet

/// Header fields in libcurl's form (CURLOPT_HTTPHEADER(3)).
@Suite(.leavesNothing) struct HeaderBlockTests {
    private func lines(_ block: HeaderBlock) -> [String] {
        var lines: [String] = []
        var node = block.list
        while let entry = node {
            lines.append(String(cString: entry.pointee.data))
            node = entry.pointee.next
        }
        return lines
    }

    @Test func fieldsKeepTheirOrderAndTheirDuplicates() throws {
        var fields = HTTPFields()
        for (name, value) in [("X-B", "1"), ("Accept", "a/b"), ("X-B", "2")] {
            fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let block = try HeaderBlock(fields)
        #expect(lines(block) == ["X-B: 1", "Accept: a/b", "X-B: 2"])
        #expect(block.fields == fields)
    }

    /// RFC 6265 section 5.4: one field, however many cookies.
    @Test func cookiesStandInOneField() throws {
        var fields: HTTPFields = [.cookie: "a=1; b=2", .accept: "x"]
        fields.append(HTTPField(name: .cookie, value: "c=3"))
        #expect(lines(try HeaderBlock(fields)) == ["Cookie: a=1; b=2; c=3", "Accept: x"])
    }

    @Test func anEmptyValueIsSentAsSuch() throws {
        let block = try HeaderBlock([.accept: ""])
        #expect(lines(block) == ["Accept;"])
    }

    /// The lenient form keeps blanks, and libcurl leaves out a field that has nothing else.
    @Test(arguments: [" ", "\t", " \t "]) func blanksAreAnEmptyValue(value: String) throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .userAgent, lenientValue: Array(value.utf8)))
        let block = try HeaderBlock(fields)
        #expect(lines(block) == ["User-Agent;"])
    }

    @Test func whatLibcurlWouldAddIsSuppressed() throws {
        let block = try HeaderBlock([.accept: "x"], suppressing: ["Expect", "Content-Type"])
        #expect(lines(block) == ["Accept: x", "Expect:", "Content-Type:"])
    }

    @Test(arguments: ["a\u{1}b", "\u{1F}", "a\u{7F}"]) func controlsAreRefused(value: String) {
        // The lenient form keeps controls; line ends become spaces in either.
        var fields = HTTPFields()
        fields.append(HTTPField(name: .userAgent, lenientValue: Array(value.utf8)))
        let failure = #expect(throws: NetworkError.self) { try HeaderBlock(fields) }
        #expect(failure?.code == .invalidHeader)
        #expect(failure?.message.contains("User-Agent") == true)
    }

    @Test(arguments: ["tab\there", " ", "~", "ü"]) func everythingElseIsNot(value: String) throws {
        let block = try HeaderBlock([.userAgent: "x" + value + "y"])
        #expect(lines(block) == ["User-Agent: x\(value)y"])
    }

    @Test func noFieldsAreNoList() {
        #expect(HeaderBlock.empty.list == nil && HeaderBlock.empty.fields.isEmpty)
    }
}
