import HTTPTypes
import ScopedNet

/// What is to be sent, made of what stands on the command line (pure). Files are read later.
struct RequestPlan: Sendable {
    /// What the body is made of.
    enum Content: Sendable, Hashable {
        case none
        /// `-d`: the text, or `@FILE`.
        case data(String)
        case json([RequestItem])
        case form([RequestItem])
        case multipart([RequestItem])
    }

    /// What was written that makes no sense; a sentence.
    struct Misuse: Error, Sendable, Hashable { let message: String }

    private(set) var content = Content.none
    private(set) var query: [RequestItem] = []
    private(set) var fields = HTTPFields()

    /// Reads the items; `givenFields` are the names of the fields given with `-H`, in lower case.
    init(
        items: [String] = [], data: String? = nil, isForm: Bool = false, isMultipart: Bool = false, givenFields: Set<String> = []
    ) throws(Misuse) {
        var body: [RequestItem] = []
        for text in items {
            guard let item = RequestItem(text) else {
                throw Misuse(
                    message: "'\(text.prefix(80))' is no item: write name=value, name:=JSON, name==value, Name:value or name@FILE.")
            }
            switch item.kind {
            case .header: try add(item)
            case .query: query.append(item)
            default: body.append(item)
            }
        }
        if body.count(where: { $0.readsStandardInput }) > 1 { throw Misuse(message: "Standard input can be read once: write @- once.") }
        content = try Self.content(body, data, isForm, isMultipart)
        addTypes(givenFields)
    }

    private mutating func add(_ item: RequestItem) throws(Misuse) {
        do throws(NetworkError) { fields.append(try HeaderArgument("\(item.name):\(item.value)").field) } catch {
            throw Misuse(message: "\(error.message); write a header field as Name:value.")
        }
    }

    private static func content(_ items: [RequestItem], _ data: String?, _ isForm: Bool, _ isMultipart: Bool) throws(Misuse) -> Content {
        if isForm, isMultipart { throw Misuse(message: "Give either --form or --multipart.") }
        if let data {
            guard items.isEmpty, !isForm, !isMultipart else { throw Misuse(message: "Give either --data or items such as name=value.") }
            return .data(data)
        }
        let hasFiles = items.contains { $0.kind == .file }
        if isForm, hasFiles { throw Misuse(message: "A file is sent in a multipart form: use --multipart.") }
        if isForm || isMultipart || hasFiles {
            if let item = items.first(where: { $0.kind == .json || $0.kind == .jsonFile }) {
                throw Misuse(message: "'\(item.name):=' makes JSON, and this is a form: write \(item.name)=VALUE.")
            }
            return isForm ? .form(items) : .multipart(items)
        }
        return items.isEmpty ? .none : .json(items)
    }

    private mutating func addTypes(_ given: Set<String>) {
        switch content {
        case .data: addDefault(.contentType, "application/x-www-form-urlencoded", given)
        case .json: addDefault(.accept, "application/json, */*;q=0.5", given)
        case .none, .form, .multipart: break
        }
    }

    private mutating func addDefault(_ name: HTTPField.Name, _ value: String, _ given: Set<String>) {
        if fields[name] == nil, !given.contains(name.canonicalName) { fields[name] = value }
    }

    /// The method where none was named: that of the command, and POST in place of GET where there is a body.
    func method(_ named: HTTPRequest.Method?, of command: HTTPRequest.Method) -> HTTPRequest.Method {
        named ?? (command == .get && content != .none ? .post : command)
    }

    /// The URL with the items' query, in their order, behind the one it has and before its fragment.
    func url(_ text: String) -> String {
        guard !query.isEmpty else { return text }
        let added = query.map { "\(PercentEncoding.escaped($0.name))=\(PercentEncoding.escaped($0.value))" }.joined(separator: "&")
        let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let front = text[..<end]
        let separator = !front.utf8.contains(UInt8(ascii: "?")) ? "?" : front.utf8.last == UInt8(ascii: "?") ? "" : "&"
        return "\(front)\(separator)\(added)\(text[end...])"
    }
}
