#if TestServer
/// What is known of a body before it is sent.
struct OpenedBody: Sendable {
    /// The length; nil where only the end will tell.
    var count: Int?
    var isFile = false
    var isMissing = false
    var entityTag: String?
    var lastModified: String?

    init(count: Int?) {
        self.count = count
    }

    init(file: FileReader?) {
        isFile = file != nil
        isMissing = file == nil
        count = file?.count
        entityTag = file?.entityTag
        lastModified = file?.lastModified
    }
}
#endif
