import FoundationEssentials
import Persistence
import ScopedNet

/// The body of a plan. Here files and standard input are read.
extension RequestPlan {
    func body() throws(ToolFailure) -> RequestBody? {
        switch content {
        case .none: return nil
        case .data(let data): return try Self.data(data)
        case .json(let items): return .data(try Self.object(items), contentType: "application/json")
        case .form(let items):
            var pairs: [String] = []
            for item in items { pairs.append("\(PercentEncoding.escaped(item.name))=\(PercentEncoding.escaped(try Self.text(item)))") }
            return .data(Data(pairs.joined(separator: "&").utf8), contentType: "application/x-www-form-urlencoded")
        case .multipart(let items): return .multipart(try Self.form(items))
        }
    }

    private static func data(_ data: String) throws(ToolFailure) -> RequestBody {
        guard data.utf8.first == UInt8(ascii: "@") else { return .data(Data(data.utf8)) }
        let path = String(Substring(data.utf8.dropFirst()))
        return path == "-" ? .data(try StandardInput.read()) : .file(path)
    }

    /// In ascending order of the names; of equal ones the last counts.
    private static func object(_ items: [RequestItem]) throws(ToolFailure) -> Data {
        var members: [ExactString: String] = [:]
        for item in items {
            let isJSON = item.kind == .json || item.kind == .jsonFile
            members[ExactString(item.name)] = isJSON ? try json(item) : try JSONText.line(text(item))
        }
        var pairs: [String] = []
        for (name, value) in members.sorted(by: { $0.key.text < $1.key.text }) { pairs.append("\(try JSONText.line(name.text)):\(value)") }
        return Data("{\(pairs.joined(separator: ","))}".utf8)
    }

    /// As it was written: a number that no type of ours holds keeps its digits.
    private static func json(_ item: RequestItem) throws(ToolFailure) -> String {
        let isFile = item.kind == .jsonFile
        var bytes = isFile ? Array(try contents(item.value)) : Array(item.value.utf8)
        // An editor's byte order mark is no JSON, and may be passed over (RFC 8259 section 8.1).
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw noJSON(item, "it is no text in UTF-8") }
        if let mistake = JSONSyntax.mistake(in: bytes) { throw noJSON(item, mistake) }
        return text
    }

    private static func noJSON(_ item: RequestItem, _ mistake: String) -> ToolFailure {
        let (what, instead) = item.kind == .jsonFile ? (item.value, "=@\(item.value)") : ("what follows :=", "=VALUE")
        return ToolFailure(.usage, "\(item.name): \(what) is no JSON: \(mistake)\n  write text as \(item.name)\(instead)")
    }

    private static func text(_ item: RequestItem) throws(ToolFailure) -> String {
        guard item.kind == .textFile else { return item.value }
        guard let text = String(validating: try contents(item.value), as: UTF8.self) else {
            throw ToolFailure(.usage, "\(item.value) is no text in UTF-8\n  send it as a file: \(item.name)@\(item.value)")
        }
        return text
    }

    private static func contents(_ path: String) throws(ToolFailure) -> Data {
        if path == "-" { return try StandardInput.read() }
        do { return try Data(contentsOf: FilePlace.url(path)) } catch {
            throw ToolFailure(ExitStatus(code: 26), "\(path) cannot be read\n  check that the file is there and may be read")
        }
    }

    private static func form(_ items: [RequestItem]) throws(ToolFailure) -> MultipartForm {
        var form = MultipartForm()
        for item in items {
            guard item.kind == .file else {
                form.add(try text(item), name: item.name)
                continue
            }
            let (path, type) = item.file
            do throws(NetworkError) { try form.add(file: FilePlace.url(path), name: item.name, contentType: type) } catch {
                throw ToolFailure(error, about: path)
            }
        }
        return form
    }
}
