import CPlainImages
import Foundation

/// Writes the files that are measured. Plain C makes them, and not what is measured.
struct SampleFiles {
    private let directory: String

    init(_ directory: String) { self.directory = directory }

    func make() throws {
        var photo = plain_photo(4_000, 3_000)
        defer { plain_image_free(&photo) }
        try write("photo.jpg", plain_jpeg_encode(&photo, 85, false, false))
        try write("progressive.jpg", plain_jpeg_encode(&photo, 85, true, false))
        try write("photo.png", plain_png_encode(&photo))
        try write("photo.webp", plain_webp_encode(&photo, 80))
        for (name, width, height) in [("small", 200, 150), ("medium", 1_000, 1_000)] {
            var picture = plain_resize(&photo, Int32(width), Int32(height))
            try write("\(name).jpg", plain_jpeg_encode(&picture, 85, false, false))
            try write("\(name).png", plain_png_encode(&picture))
            try write("\(name).webp", plain_webp_encode(&picture, 80))
            plain_image_free(&picture)
        }
        try FileManager.default.createDirectory(atPath: "\(directory)/bombs", withIntermediateDirectories: true)
        for bomb in Bomb.all { try bomb.make().write(to: URL(filePath: "\(directory)/bombs/\(bomb.file)")) }
    }

    private func write(_ name: String, _ bytes: plain_bytes) throws { try bytes.data.write(to: URL(filePath: "\(directory)/\(name)")) }
}

extension plain_bytes {
    /// The bytes, which the data owns from here on.
    var data: Data { start.map { Data(bytesNoCopy: $0, count: count, deallocator: .free) } ?? Data() }
}
