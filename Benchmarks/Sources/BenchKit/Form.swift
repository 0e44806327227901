/// The multipart form of clients that have none of their own: a text field and a file.
public enum Form {
    private static let boundary = "bench-5f0c1f9d"

    /// The value of `Content-Type`.
    public static let contentType = "multipart/form-data; boundary=\(boundary)"
    /// The form up to the contents of the file: a field of text, and the head of the file's part.
    public static let head =
        "--\(boundary)\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\na file\r\n--\(boundary)\r\n"
        + "Content-Disposition: form-data; name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream\r\n\r\n"
    /// The end of the form.
    public static let tail = "\r\n--\(boundary)--\r\n"
}
