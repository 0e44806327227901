import FoundationEssentials
import ScopedNetImages

private let limits: ImageLimits = {
    var limits = ImageLimits.standard
    (limits.pixels, limits.decodedBytes) = (1 << 18, 1 << 21)
    (limits.frames, limits.scans) = (40, 40)
    return limits
}()

private let decoders: [ImageFormat: any ImageDecoding] = Dictionary(
    [any ImageDecoding].standard.flatMap { decoder in decoder.formats.map { ($0, decoder) } }, uniquingKeysWith: { $1 })

/// Every byte of the pixels is read: the address sanitizer sees those that were never written to belong to somebody else.
private func touch(_ image: DecodedImage, _ name: String) {
    check(image.width > 0 && image.height > 0 && image.byteCount == image.width * image.height * 4, "\(name) has a strange size")
    check(image.width * image.height <= limits.pixels, "\(name) is beyond the limit")
    image.withPixels { pixels in check(pixels.count == image.byteCount && pixels.reduce(0, &+) >= 0, "\(name) lacks pixels") }
}

private func header(_ data: Data) -> ImageHeader? {
    guard case .header(let header) = try? ImageHeader.read(data, isComplete: true, limits: limits) else { return nil }
    return header
}

/// A file of any format: its picture has the size of its header, within the limits; smaller ones are no larger than it; a beginning of the file has the
/// same header, or none yet.
@Sendable func fuzzPicture(_ input: UnsafeRawBufferPointer) {
    let data = Data(input)
    guard let header = header(data), let decoder = decoders[header.format] else { return }
    if case .header(let early) = try? ImageHeader.read(data.prefix(data.count / 2), limits: limits) {
        check(early.format == header.format && early.width == header.width && early.height == header.height, "the header changes")
    }
    for size in [nil, PixelSize(width: 3, height: 2)] {
        guard let image = try? decoder.decode(data, header: header, options: ImageDecodingOptions(size: size, limits: limits)) else {
            continue
        }
        touch(image, "\(header.format)")
        check(image.width <= header.width && image.height <= header.height, "\(header.format) grows")
        if size == nil { check(image.width == header.width && image.height == header.height, "\(header.format) is not its header's size") }
    }
}

/// A file that moves: each of its frames can be had, in any order, and is the same each time.
@Sendable func fuzzFrames(_ input: UnsafeRawBufferPointer) {
    guard let animation = try? AnimatedImage(Data(input), limits: limits) else { return }
    check(animation.frameCount >= 1 && animation.frameCount <= limits.frames, "\(animation.frameCount) frames")
    check(animation.durations.count == animation.frameCount, "\(animation.durations.count) durations")
    var first: [UInt8] = []
    for index in [0, animation.frameCount - 1, animation.frameCount / 2, 0] {
        guard let frame = try? animation.frame(at: index) else { return }
        touch(frame, "frame \(index)")
        guard index == 0 else { continue }
        let bytes = frame.withPixels { Array($0) }
        check(first.isEmpty || first == bytes, "the first frame changes")
        first = bytes
    }
}

/// A JPEG that comes in two parts: previews, and of them the picture that comes of it in one.
@Sendable func fuzzPreview(_ input: UnsafeRawBufferPointer) {
    #if Images
    guard let (choice, rest) = input.split else { return }
    let data = Data(rest)
    let options = ImageDecodingOptions(limits: limits)
    guard let header = header(data), header.format == .jpeg, let previewer = try? JPEGPreviewer(header: header, options: options) else {
        return
    }
    for part in [data.prefix(data.count * choice / 256), data] {
        guard let preview = try? previewer.preview(part) else { continue }
        touch(preview, "a preview")
    }
    guard let picture = try? previewer.picture(data) else { return }
    touch(picture, "the picture")
    guard let whole = try? JPEGDecoder().decode(data, header: header, options: options) else { return }
    check(picture.withPixels { one in whole.withPixels { one.elementsEqual($0) } }, "by previews it is another picture")
    #endif
}
