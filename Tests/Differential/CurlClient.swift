import Foundation
import TestProcesses

/// The curl tool: follows redirects, keeps cookies, decodes what it offers to.
struct CurlClient: Client {
    let name = "curl"

    func perform(_ call: Call) async -> Reply {
        do {
            let folder = FileManager.default.temporaryDirectory.appending(path: "scopednet-differential-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            if let authority = call.authority {
                try authority.write(to: folder.appending(path: "authority.pem"), atomically: false, encoding: .utf8)
            }
            if let body = call.body { try body.write(to: folder.appending(path: "sent")) }
            let result = try await ProgramRun(["curl"] + Self.arguments(call, folder.path)).result()
            guard result.status == 0 else { return Reply(error: Self.name(of: result.status, result.errors), detail: result.errors) }
            let head = try Data(contentsOf: folder.appending(path: "head"))
            // With -I it writes the head where the body would go.
            let body = call.method == "HEAD" ? Data() : (try? Data(contentsOf: folder.appending(path: "received"))) ?? Data()
            return Self.reply(head, body)
        } catch {
            return Reply(error: "other", detail: "\(error)")
        }
    }

    private static func arguments(_ call: Call, _ folder: String) -> [String] {
        // Without the user's configuration, and with the URL as it is: no ranges in brackets.
        var words = ["-q", "-sS", "-g", "-L", "--max-redirs", "20", "--compressed", "-m", "5", "-b", ""]
        words += call.proxy.map(proxyWords) ?? ["--noproxy", "*"]
        if call.authority != nil { words += ["--cacert", folder + "/authority.pem"] }
        words += ["-D", folder + "/head", "-o", folder + "/received"]
        for field in call.fields { words += ["-H", field.value.isEmpty ? field.name + ";" : "\(field.name): \(field.value)"] }
        if call.body != nil {
            words += ["--data-binary", "@\(folder)/sent"]
            if !call.fields.contains(where: { $0.name.lowercased() == "content-type" }) { words += ["-H", "Content-Type:"] }
        }
        switch (call.method, call.body != nil) {
        case ("GET", false), ("POST", true): break
        case ("HEAD", false): words.append("-I")
        default: words += ["-X", call.method]
        }
        return words + [call.resolved ?? call.url]
    }

    private static func proxyWords(_ proxy: Call.Proxy) -> [String] {
        let words = ["-x", proxy.url, "--suppress-connect-headers"]
        guard let user = proxy.user else { return words }
        return words + ["-U", "\(user):\(proxy.password)", proxy.scheme == .basic ? "--proxy-basic" : "--proxy-anyauth"]
    }

    private static func reply(_ head: Data, _ body: Data) -> Reply {
        var reply = Reply(body: fingerprint(body))
        for line in head.split(separator: UInt8(ascii: "\n")) {
            let text =
                line.allSatisfy({ $0 < 0x80 }) || String(validating: line, as: UTF8.self) != nil
                ? String(decoding: line, as: UTF8.self) : String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) }))
            if text.hasPrefix("HTTP/") {
                reply.status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
                reply.fields = [:]
            } else if let colon = text.firstIndex(of: ":"), text.lowercased().hasPrefix("x-") {
                let name = text[..<colon].lowercased()
                let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
                reply.fields[name] = reply.fields[name].map { "\($0), \(value)" } ?? value
            }
        }
        return reply
    }

    /// libcurl-errors(3).
    private static func name(of status: Int32, _ words: String) -> String {
        switch status {
        // "Received HTTP/0.9 when not allowed" and "Unsupported HTTP version" have the code of a protocol it does not speak.
        case 1 where words.contains("HTTP"): "protocol"
        case 1, 3: "url"
        case 7 where words.contains("CONNECT"), 56 where words.contains("CONNECT"): "proxy"
        case 6, 7: "connect"
        case 8, 43, 100: "protocol"
        case 18: "truncated"
        case 23, 61: "coding"
        case 28: "timeout"
        case 47: "redirect"
        case 52: "lost"
        case 56: "receive"
        default: "other \(status)"
        }
    }
}
