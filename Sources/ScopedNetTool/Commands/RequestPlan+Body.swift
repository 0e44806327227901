import FoundationEssentials
import ScopedNet

/// The body of a plan. Here files and standard input are read.
extension RequestPlan {
    func body() throws(ToolFailure) -> RequestBody? {
        switch content {
        case .none: return nil
        case .data(let data): return try Self.data(data)
        case .json(let items): return .json(try Self.object(items))
        case .form(let items):
            var pairs: [String] = []
            for item in items { pairs.append("\(PercentEncoding.escaped(item.name))=\(PercentEncoding.escaped(try Self.text(item)))") }
            return .data(Data(pairs.joined(separator: "&").utf8), contentType: "application/x-www-form-urlencoded")
        case .multipart(let items): return .multipart(try Self.form(items))
        }
    }

    private static func data(_ data: String) throws(ToolFailure) -> RequestBody {
        guard data.hasPrefix("@") else { return .data(Data(data.utf8)) }
        let path = String(data.dropFirst())
        return path == "-" ? .data(try StandardInput.read()) : .file(path)
    }

    private static func object(_ items: [RequestItem]) throws(ToolFailure) -> JSONValue {
        var members: [String: JSONValue] = [:]
        for item in items {
            let isJSON = item.kind == .json || item.kind == .jsonFile
            members[item.name] = isJSON ? try json(item) : .string(try text(item))
        }
        return .object(members)
    }

    private static func json(_ item: RequestItem) throws(ToolFailure) -> JSONValue {
        let data = item.kind == .jsonFile ? try contents(item.value) : Data(item.value.utf8)
        do { return try JSONDecoder().decode(JSONValue.self, from: data) } catch {
            throw ToolFailure(.usage, "\(item.name): what follows := is no JSON\n  write text as \(item.name)=VALUE")
        }
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
