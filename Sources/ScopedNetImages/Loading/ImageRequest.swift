public import ScopedNet

/// A picture that is wanted: its URL, the size in which it is shown, and the steps that are made with it.
///
/// ```swift
/// let avatar = ImageRequest("users/7/avatar", size: PixelSize(96, 96), mode: .fill, processors: [.circle])
/// let image = try await images.image(avatar)
/// ```
///
/// Requests are values. Two with the same URL, fields, size, mode and processors want the same picture, and share it.
public struct ImageRequest: Sendable {
    /// Relative to the base URL of the session, or absolute.
    public var url: String
    /// Fields besides those of the session. `Accept` is that of the loader where it is not set here.
    public var headers: HeaderFields = [:]
    /// The size in which it is shown, in pixels; nil for that of the file. A decoder makes no more pixels than that takes.
    public var size: PixelSize?
    /// The relation of the picture to `size`. Default: it fits within.
    public var mode = ImageProcessors.Resize.Mode.fit
    /// The steps behind resizing, in their order.
    public var processors: [any ImageProcessing] = []
    /// Its priority. Several who wait for one picture have it as urgently as the most urgent of them. Default: `normal`.
    public var priority = Priority.normal
    /// The response cache's part; nil for that of the session. One that does not read stored responses does not read the memory either, and a picture of one
    /// that stores nothing, as `CachePolicy.off`, is not kept there; the session's counts in the same way.
    public var cache: CachePolicy?
    /// Pixels for each point of the screen it is made for, which the picture carries. Default: 1.
    public var scale = 1.0
    /// For `RequestAgent.cancelAll(tag:)`.
    public var tag: String?

    /// Makes a request for a picture.
    ///
    /// - Parameters:
    ///   - url: relative to the base URL of the session, or absolute.
    ///   - size: the size in which it is shown, in pixels. Default: that of the file.
    ///   - mode: the relation of the picture to `size`. Default: it fits within.
    ///   - processors: the steps behind resizing. Default: none.
    ///   - priority: how urgent it is. Default: `normal`.
    public init(
        _ url: String, size: PixelSize? = nil, mode: ImageProcessors.Resize.Mode = .fit, processors: [any ImageProcessing] = [],
        priority: Priority = .normal
    ) {
        self.url = url
        self.size = size
        self.mode = mode
        self.processors = processors
        self.priority = priority
    }

    /// The difference between two pictures of one URL, besides their size.
    var variant: String {
        var parts: [String] = mode == .fit ? [] : ["\(mode)"]
        if scale != 1 { parts.append("@\(scale)") }
        if !processors.isEmpty { parts.append(ImageProcessors.Chain(processors).identifier) }
        return parts.joined(separator: ";")
    }
}

extension CachePolicy {
    /// True where a picture that is in memory is an answer.
    var readsPictures: Bool {
        switch read {
        case .validOrNetwork, .thenNetwork, .only: true
        case .none, .revalidate: false
        }
    }

    /// False where no picture is to be kept.
    var keepsPictures: Bool { !write.isEmpty }
}

extension ImageRequest: ExpressibleByStringLiteral {
    /// Makes a request for the picture of a URL, in its own size.
    public init(stringLiteral url: String) { self.init(url) }
}
