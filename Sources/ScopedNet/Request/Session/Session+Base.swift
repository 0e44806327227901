public import FoundationEssentials

extension Session {
    /// Creates a session for the server or the API at a URL; all other settings are the defaults.
    ///
    /// ```swift
    /// let api = Session("https://api.example.com/v1/", json: JSONCoding(keys: .snakeCase, dates: .iso8601))
    /// ```
    ///
    /// The URL is that of ``Session/Configuration/baseURL``; end it with a slash.
    public convenience init(_ baseURL: String, json: JSONCoding = .standard, fileID: StaticString = #fileID, line: Int = #line) {
        self.init(baseURL: baseURL, json: json, fileID: fileID, line: line)
    }

    /// Creates a session for the server or the API at a URL; all other settings are the defaults.
    public convenience init(baseURL: String, json: JSONCoding = .standard, fileID: StaticString = #fileID, line: Int = #line) {
        var configuration = Configuration()
        configuration.baseURL = baseURL
        configuration.json = json
        self.init(configuration: configuration, fileID: fileID, line: line)
    }

    /// Creates a session for the server or the API at a URL; all other settings are the defaults.
    public convenience init(baseURL: URL, json: JSONCoding = .standard, fileID: StaticString = #fileID, line: Int = #line) {
        self.init(baseURL: baseURL.absoluteString, json: json, fileID: fileID, line: line)
    }

    /// Tells the observers of settings that are probably not meant, once for each base URL.
    ///
    /// - Parameter former: the base URL of the session this one is derived from.
    func warn(after former: String?) {
        guard let base = configuration.baseURL, base != former, !configuration.observers.isEmpty else { return }
        guard let warning = SessionWarning.ofBase(base) else { return }
        for observer in configuration.observers { observer.observe(warning) }
    }
}
