/// What the tests tell the client, on its standard input.
package struct ClientRequest: Codable, Sendable {
    package struct Field: Codable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package var method: String
    package var url: String
    package var fields: [Field]
    package var body: String?
    package var isReload: Bool
    /// Of the store.
    package var folder: String
    /// See ``SharedClock``.
    package var clock: String
    /// Nothing is closed: the client sends itself SIGTERM, and the cache writes what it holds.
    package var endsBySignal = false

    package init(method: String, url: String, fields: [Field], body: String?, isReload: Bool, folder: String, clock: String) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.isReload = isReload
        self.folder = folder
        self.clock = clock
    }
}

/// What the client says, on its standard output.
package struct ClientResponse: Codable, Sendable {
    package struct Head: Codable, Sendable {
        package var status: Int
        package var fields: [ClientRequest.Field]
    }

    package var head: Head
    package var body: String
    package var interim: [Head]
}
