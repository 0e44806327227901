import FoundationEssentials
import HTTPTypes
import ScopedNet

/// The part of a HAR 1.2 file that a replay needs.
struct Archive: Decodable {
    struct Log: Decodable { var entries: [Entry] }

    struct Entry: Decodable {
        var request: Request
        var response: Response
        var _scopednet: Details?
    }

    struct Request: Decodable {
        var method: String
        var url: String
    }

    struct Response: Decodable {
        var status: Int
        var headers: [Field]
        var content: Content
    }

    struct Field: Decodable {
        var name: String
        var value: String
    }

    struct Content: Decodable {
        var text: String?
        var encoding: String?
    }

    struct Details: Decodable { var transportError: Bool? }

    var log: Log
}

extension Archive.Entry {
    /// Nil when no response came.
    var reply: MockReply? {
        guard (100...999).contains(response.status) else { return nil }
        var headers = HTTPFields()
        // A file holds the body without its codings (HAR 1.2, `content`), so these would be lies.
        let framing = ["content-encoding", "transfer-encoding", "content-length", "connection"]
        for field in response.headers where !framing.contains(field.name.lowercased()) {
            // Names of HTTP/2 such as `:status` are none here.
            if let name = HTTPField.Name(field.name) { headers.append(HTTPField(name: name, value: field.value)) }
        }
        let reply = MockReply(status: response.status, headers: headers, body: body)
        return _scopednet?.transportError == true ? reply.thenFailing() : reply
    }

    private var body: Data {
        guard let text = response.content.text else { return Data() }
        return response.content.encoding == "base64" ? Data(base64Encoded: text) ?? Data() : Data(text.utf8)
    }
}
