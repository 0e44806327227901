package import CCurl
public import HTTPTypes

/// The header fields of a request, checked once and kept in libcurl's form, so that a thousand requests with the same fields
/// share one list.
@_spi(Transport) public final class HeaderBlock: Sendable {
    /// The fields in their order, without those that libcurl adds by itself.
    public let fields: HTTPFields
    private let suppressed: [String]

    // Safety: built in `init` and never changed; libcurl only reads a CURLOPT_HTTPHEADER list.
    nonisolated(unsafe) package let list: UnsafeMutablePointer<curl_slist>?

    /// - Parameters:
    ///   - fields: sent in order, duplicates kept.
    ///   - names: those that libcurl would add by itself and shall not.
    /// - Throws: ``NetworkError`` with code `invalidHeader` for CR, LF, NUL or other control characters in a value.
    public init(_ fields: HTTPFields, suppressing names: [String] = []) throws(NetworkError) {
        self.fields = fields
        suppressed = names
        var list: UnsafeMutablePointer<curl_slist>?
        func append(_ line: String) -> Bool {
            guard let longer = curl_slist_append(list, line) else { return false }
            list = longer
            return true
        }
        var complete = true
        var hasCookies = false
        for field in fields {
            guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                curl_slist_free_all(list)
                throw NetworkError(.invalidHeader, phase: .preparing, message: "'\(field.name)' has a control character in its value")
            }
            // HTTPFields keeps each cookie in a field of its own; on the wire there may be one (RFC 6265 section 5.4).
            let isCookie = field.name == .cookie
            if isCookie, hasCookies { continue }
            hasCookies = hasCookies || isCookie
            // "Name;" is libcurl's way to send a field with an empty value, and blanks are one (RFC 9110 section 5.5): "Name:" with blanks
            // behind it leaves the field out.
            let (name, value) = (field.name.rawName, isCookie ? fields[.cookie] ?? "" : field.value)
            let isEmpty = value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            complete = append(isEmpty ? "\(name);" : "\(name): \(value)") && complete
        }
        for name in names { complete = append("\(name):") && complete }
        guard complete else {
            curl_slist_free_all(list)
            throw NetworkError(.resources, phase: .preparing, message: "no memory for the header fields")
        }
        self.list = list
    }

    package static let empty = HeaderBlock()

    private init() {
        fields = [:]
        suppressed = []
        list = nil
    }

    /// The same fields for a server that does not meet the expectation.
    func withoutExpectation() throws(NetworkError) -> HeaderBlock {
        var fields = fields
        fields[.expect] = nil
        return try HeaderBlock(fields, suppressing: suppressed + ["Expect"])
    }

    deinit { curl_slist_free_all(list) }
}
