extension Request {
    /// Sets a header field of later starts; it replaces fields of that name, the session's too. An empty value is sent as such.
    ///
    /// What is no name, or a value with a line end, a NUL or another control character, is refused: the next start fails with `invalidHeader`
    /// and sends nothing, unless the field is set anew.
    public func header(_ name: String, _ value: String) -> Self { changeDescription { $0.with(name, value) } }
}
