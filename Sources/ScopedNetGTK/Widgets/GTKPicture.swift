#if GTK
import CViewsGTK
public import ScopedNetImages
public import ScopedNetViews

/// A `GtkPicture` or `GtkImage` that shows the pictures of requests.
///
/// ```swift
/// let photo = GTKPicture()
/// let slot = ImageSlot(for: photo, loader: images, in: photo.bag)
/// photo.bag.insert(slot)
/// slot.bind(ImageBinding("photos/7"))
/// ```
///
/// The pixels are not copied: the texture holds the picture. The natural size of a `GtkPicture` is the number of pixels, whatever the
/// ``ScopedNetImages/DecodedImage/scale`` of the picture; `gtk_picture_set_content_fit` and the layout decide about the size.
public final class GTKPicture: GTKAdapter, ImageDisplaying {
    /// Adapts a widget.
    ///
    /// - Parameters:
    ///   - widget: a `GtkPicture` or `GtkImage`; nil, the default, for a new `GtkPicture`, whose reference is floating until it has a parent.
    ///   - fileID: the file of the call, which names the bag of the widget, with `line`.
    ///   - line: the line of the call.
    public init(_ widget: UnsafeMutableRawPointer? = nil, fileID: StaticString = #fileID, line: Int = #line) {
        let widget = adapted(widget, else: gtk_picture_new(), gtk_picture_get_type(), gtk_image_get_type())
        super.init(owner: widget, fileID, line)
        widget.own(self)
    }

    /// Shows a picture, or none.
    ///
    /// - Parameter image: the picture; nil for none.
    public func display(_ image: DecodedImage?) { object.with { show(image, in: $0) } }
}

/// Shows a picture in a GtkPicture or GtkImage.
@MainActor func show(_ image: DecodedImage?, in widget: UnsafeMutableRawPointer) {
    let texture = image?.makeGdkTexture()
    defer { if let texture { g_object_unref(texture) } }
    if widget.isA(gtk_image_get_type()) {
        gtk_image_set_from_paintable(OpaquePointer(widget), texture.map { OpaquePointer($0) })
    } else {
        gtk_picture_set_paintable(OpaquePointer(widget), texture.map { OpaquePointer($0) })
    }
}

extension DecodedImage {
    /// Makes a `GdkTexture` over the pixels of this picture, which it keeps: nothing is copied. Any thread.
    ///
    /// - Returns: the address of a `GdkMemoryTexture`, with a reference that is the caller's to release (`g_object_unref`).
    public func makeGdkTexture() -> UnsafeMutableRawPointer {
        let bytes = makeBytes()
        defer { g_bytes_unref(bytes) }
        let format = isPremultiplied ? GDK_MEMORY_R8G8B8A8_PREMULTIPLIED : GDK_MEMORY_R8G8B8A8
        guard let texture = gdk_memory_texture_new(gint(width), gint(height), format, bytes, gsize(bytesPerRow)) else {
            preconditionFailure("GTK makes a texture of each picture that has pixels")
        }
        return UnsafeMutableRawPointer(texture)
    }

    /// The pixels as GBytes, with a reference for the caller.
    package func makeBytes() -> OpaquePointer {
        let holder = Unmanaged.passRetained(PixelHolder(self)).toOpaque()
        // Safety: the address is good for as long as a copy of the picture is there, and the holder has one until GBytes release it.
        let bytes = withPixels { pixels in
            g_bytes_new_with_free_func(
                pixels.baseAddress, gsize(pixels.count), { if let holder = $0 { PixelHolder.release(holder) } }, holder)
        }
        guard let bytes else { preconditionFailure("GLib ends the process where it has no memory") }
        return bytes
    }
}

/// The picture whose pixels GBytes lend.
private final class PixelHolder: Sendable {
    private let image: DecodedImage

    init(_ image: DecodedImage) { self.image = image }

    static func release(_ holder: UnsafeMutableRawPointer) {
        // Safety: GBytes call this once, for the reference that they were made with.
        Unmanaged<PixelHolder>.fromOpaque(holder).release()
    }
}
#endif
