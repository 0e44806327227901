public import FoundationEssentials
public import HTTPTypes

/// A form with files (RFC 7578), streamed while it is sent: whatever the files' sizes, a few hundred KiB are in memory.
///
/// ```swift
/// var form = MultipartForm()
/// form.add("Holidays", name: "title")
/// try form.add(file: photo, name: "photo")
/// let response = try await session.post("albums", body: .multipart(form)).response()
/// ```
///
/// Parts are sent in the order they were added. Names and file names may hold anything: what could end a name or a line is percent-encoded.
/// A value: a form can be sent again, changed and sent again, and shared between requests. A redirect or a retry sends the same bytes once more,
/// unless a part comes from a sequence that can be read only once; then the request fails with `bodyNotReplayable`.
public struct MultipartForm: Sendable {
    package let boundary: MultipartBoundary
    package private(set) var parts: [MultipartPart] = []

    /// With a boundary of its own, that cannot be guessed.
    public init() { boundary = .random() }

    /// With a boundary that is known before, for tests. Content that holds it is `invalidParameters`, or `bodyStreamFailed` where it is
    /// found only while sending.
    ///
    /// - Throws: ``NetworkError`` with code `invalidOption` for what is no boundary (RFC 2046 section 5.1.1: 1 to 70 of certain characters).
    public init(boundary: String) throws(NetworkError) { self.boundary = try MultipartBoundary(boundary) }

    /// True when no part was added.
    public var isEmpty: Bool { parts.isEmpty }

    /// The value of `Content-Type`.
    public var contentType: String { boundary.contentType }

    /// The exact length of the whole body in bytes; nil when a part's is not known, and in the absurd case that it is beyond `Int64`.
    public var contentLength: Int64? {
        var total: Int64 = 0
        for piece in layout {
            guard let length = piece.length else { return nil }
            let (sum, isOver) = total.addingReportingOverflow(length)
            guard !isOver else { return nil }
            total = sum
        }
        return total
    }

    // MARK: Adding parts

    /// A text, in UTF-8, without a type: what most fields of forms are.
    public mutating func add(_ text: String, name: String) {
        let data = Data(text.utf8)
        let fields: HTTPFields = [.contentDisposition: MultipartHeader.disposition(name: name, fileName: nil)]
        parts.append(MultipartPart(fields, .data(data), length: Int64(data.count)))
    }

    /// Adds bytes in memory; with a file name they are a file to the server.
    ///
    /// - Parameters:
    ///   - data: the contents of the part.
    ///   - name: the name of the field.
    ///   - fileName: nil, the default, for a field that is no file.
    ///   - contentType: nil with a file name: by its extension (``MediaType/forFile(named:)``); nil without: none is sent.
    /// - Throws: ``NetworkError`` with code `invalidHeader` for a type that is no value of a field.
    public mutating func add(_ data: Data, name: String, fileName: String? = nil, contentType: String? = nil) throws(NetworkError) {
        let fields = try MultipartHeader.fields(
            name: name, fileName: fileName, contentType: contentType ?? fileName.map { MediaType.forFile(named: $0) })
        parts.append(MultipartPart(fields, .data(data), length: Int64(data.count)))
    }

    /// Adds a file, read while it is sent, and anew each time. Its size is taken now (one stat(2)); a file that has another by then fails
    /// the request with `bodyStreamFailed`.
    ///
    /// - Parameters:
    ///   - file: a file URL.
    ///   - name: the name of the field.
    ///   - fileName: the last component of its path by default.
    ///   - contentType: by the extension of `fileName` by default.
    /// - Throws: ``NetworkError`` with code `fileUnreadable` for what is no file URL, is not there, may not be read, or is no regular file;
    ///   `invalidHeader` for a type that is no value of a field. Nothing is added then.
    public mutating func add(file: URL, name: String, fileName: String? = nil, contentType: String? = nil) throws(NetworkError) {
        let path = try Self.path(of: file)
        let size = try MultipartFile.size(of: path)
        let shown = fileName ?? file.lastPathComponent
        let fields = try MultipartHeader.fields(name: name, fileName: shown, contentType: contentType ?? MediaType.forFile(named: shown))
        parts.append(MultipartPart(fields, .file(path: path), length: size))
    }

    /// Adds a sequence, pulled with backpressure while it is sent.
    ///
    /// - Parameters:
    ///   - bytes: the contents of the part, in pieces of any size.
    ///   - length: the exact number of bytes; a sequence that gives more or fewer fails the request with `bodyStreamFailed`. Nil where it
    ///     is not known: then the length of the body is not either, and chunked framing is used on HTTP/1.1, which not all servers take.
    ///   - name: the name of the field.
    ///   - fileName: nil, the default, for a field that is no file.
    ///   - contentType: nil with a file name: by its extension; nil without: none is sent.
    ///   - isReplayable: true when iterating the sequence a second time gives the same bytes. Default: false.
    /// - Throws: ``NetworkError`` with code `invalidHeader` for a type that is no value of a field, `invalidOption` for a negative length.
    public mutating func add<Bytes: AsyncSequence & Sendable>(
        _ bytes: Bytes, length: Int64?, name: String, fileName: String? = nil, contentType: String? = nil, isReplayable: Bool = false
    ) throws(NetworkError) where Bytes.Element == Data {
        guard length ?? 0 >= 0 else { throw NetworkError(.invalidOption, phase: .preparing, message: "a length cannot be negative") }
        let fields = try MultipartHeader.fields(
            name: name, fileName: fileName, contentType: contentType ?? fileName.map { MediaType.forFile(named: $0) })
        let pieces = UploadPieces(isReplayable: isReplayable) { send in
            for try await piece in bytes { try await send(piece) }
        }
        parts.append(MultipartPart(fields, .sequence(pieces), length: length))
    }

    /// Parameters, one part for each pair that a query would have, under its name: bytes as they are, a null as an empty part, all else as
    /// the text a query has. None has a type.
    ///
    /// - Throws: ``NetworkError`` with code `invalidParameters` for a number that is not finite; nothing is added then.
    public mutating func add(_ parameters: Parameters, style: Parameters.Style = Parameters.Style()) throws(NetworkError) {
        for pair in try style.pairs(of: parameters) {
            switch pair.content {
            case .none: add("", name: pair.name)
            case .text(let text): add(text, name: pair.name)
            case .bytes(let data): try add(data, name: pair.name)
            }
        }
    }

    /// A part with fields of your own, such as a `Content-Disposition` this type does not write. They are sent in the order given.
    public mutating func add(_ data: Data, fields: HTTPFields) {
        parts.append(MultipartPart(fields, .data(data), length: Int64(data.count)))
    }

    private static func path(of file: URL) throws(NetworkError) -> String {
        guard file.isFileURL else {
            throw NetworkError(.fileUnreadable, phase: .preparing, message: "the file of a part must be given as a file URL")
        }
        guard !file.path(percentEncoded: true).contains("%00") else { throw .nulInPath(file.path, .fileUnreadable) }
        return file.path
    }
}
