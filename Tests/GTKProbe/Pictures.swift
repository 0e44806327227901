import CViewsGTK
@_spi(Census) import ScopedNet
import ScopedNetGTK
import ScopedNetImages
import ScopedNetViews

@MainActor
enum Pictures {
    /// A texture has the pixels themselves, in the right format, and keeps the picture until its own end.
    static func texture() throws {
        let before = LiveObjects.snapshot()[.imageBuffer]
        var image: DecodedImage? = try picture([200, 100, 50, 128])
        let bytes = image?.makeBytes()
        expect(image?.withPixels { $0.baseAddress } == g_bytes_get_data(bytes, nil), "the bytes are at another address")
        g_bytes_unref(bytes)
        let texture = image?.makeGdkTexture()
        expect(Array(downloaded(texture.map { OpaquePointer($0) })[..<4]) == [100, 50, 25, 128], "colours are not multiplied by alpha")
        image = nil
        expect(LiveObjects.snapshot()[.imageBuffer] == before + 1, "the texture does not keep the picture")
        g_object_unref(texture)
        expect(LiveObjects.snapshot()[.imageBuffer] == before, "the picture is left")
        let premultiplied = try picture([100, 50, 25, 128], isPremultiplied: true).makeGdkTexture()
        expect(Array(downloaded(OpaquePointer(premultiplied))[..<4]) == [100, 50, 25, 128], "multiplied twice")
        g_object_unref(premultiplied)
    }

    static func shown() async throws {
        let view = GTKPicture()
        let window = TestWindow(view.widget)
        view.display(try picture([255, 0, 0, 255], width: 320, height: 240))
        await window.drawn()
        guard let widget = view.widget else { return expect(false, "no widget") }
        expect(window.color(inTheMiddleOf: widget) == [255, 0, 0, 255], "not red: \(window.color(inTheMiddleOf: widget))")
        view.displayPreview(try picture([0, 0, 255, 255], width: 320, height: 240))
        await window.drawn()
        expect(window.color(inTheMiddleOf: widget) == [0, 0, 255, 255], "not blue")
        view.display(nil)
        expect(gtk_picture_get_paintable(OpaquePointer(widget)) == nil, "a picture is left")
        window.close()
        expect(LiveObjects.snapshot()[.imageBuffer] == 0, "pictures are left: \(LiveObjects.snapshot())")
    }

    static func icon() throws {
        let image = UnsafeMutableRawPointer(gtk_image_new()!)
        g_object_ref_sink(image)
        let view = GTKPicture(image)
        view.display(try picture([255, 0, 0, 255], width: 16, height: 12))
        expect(gdk_paintable_get_intrinsic_width(gtk_image_get_paintable(OpaquePointer(image))) == 16)
        view.display(nil)
        expect(gtk_image_get_paintable(OpaquePointer(image)) == nil)
        g_object_unref(image)
        expect(view.widget == nil, "the widget is left")
    }
}
