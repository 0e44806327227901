extension Session.Configuration {
    /// The rule for the addresses that the session may connect to. Nil, the default: all.
    public var addressFilter: AddressFilter? {
        get { connection.addressFilter }
        set { connection.addressFilter = newValue }
    }
}
