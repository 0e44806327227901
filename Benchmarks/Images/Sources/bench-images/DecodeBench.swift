import Foundation
import ScopedNetImages

/// 12 million pixels, to a thumbnail and in full, beside plain C and gdk-pixbuf: processor time of the thread.
struct DecodeBench {
    private struct Case: Sendable {
        let name: String
        let file: String
        let measured: String
        var size: PixelSize?
        /// The largest ratio to C; nil for information.
        var most: Double?
        let plain: @Sendable (Data) -> Double
    }

    private let options: Options
    private let peer: GDKPixbufPeer?

    init(_ options: Options) { (self.options, peer) = (options, GDKPixbufPeer(options)) }

    private static let thumbnail = PixelSize(256, 256)
    private static let cases = [
        Case(
            name: "JPEG to 256 px", file: "photo.jpg", measured: "12 Mpx, baseline; C: the same DCT scale (1/8), and a triangle filter",
            size: thumbnail, most: 1.15
        ) { data in PlainCodec.time { PlainCodec.jpegThumbnail(data, 1, 256, 192) } },
        Case(name: "JPEG in full", file: "photo.jpg", measured: "12 Mpx, baseline; C: to RGBA, row by row", most: 1.05) { data in
            PlainCodec.time { PlainCodec.jpeg(data, eighths: 8) }
        },
        Case(name: "progressive JPEG to 256 px", file: "progressive.jpg", measured: "12 Mpx; C as above", size: thumbnail) { data in
            PlainCodec.time { PlainCodec.jpegThumbnail(data, 1, 256, 192) }
        },
        Case(name: "progressive JPEG in full", file: "progressive.jpg", measured: "12 Mpx; C as above") { data in
            PlainCodec.time { PlainCodec.jpeg(data, eighths: 8) }
        },
        Case(
            name: "PNG to 256 px", file: "photo.png", measured: "12 Mpx; C: in full, means of 15 × 15, and a triangle filter",
            size: thumbnail
        ) { data in PlainCodec.time { PlainCodec.pngThumbnail(data, box: 15, 256, 192) } },
        Case(name: "PNG in full", file: "photo.png", measured: "12 Mpx; C: to RGBA, row by row") { data in
            PlainCodec.time { PlainCodec.png(data) }
        },
        Case(name: "WebP to 256 px", file: "photo.webp", measured: "12 Mpx, lossy; C: libwebp's own scaling", size: thumbnail) { data in
            PlainCodec.time { PlainCodec.webP(data, width: 256, height: 192) }
        },
        Case(name: "WebP in full", file: "photo.webp", measured: "12 Mpx, lossy; C: WebPDecode") { data in
            PlainCodec.time { PlainCodec.webP(data) }
        },
    ]

    func run() throws {
        for each in Self.cases where each.name.hasPrefix(options.only) { try run(each) }
    }

    private func run(_ each: Case) throws {
        let data = try options.file(each.file)
        var bodies = [{ try PictureReader.time(data, size: each.size) }, { each.plain(data) }]
        let question = each.size.map { "size \($0.width) \($0.height)" } ?? "full"
        let asked = "\(question) \(options.files)/\(each.file)"
        if let peer, peer.ask(asked).hasPicture { bodies.append { peer.ask(asked).time } }
        let rounds = try Rounds(options.rounds, bodies)
        var row = ReportRow(each.name, each.measured, Form.time(rounds.median(0)))
            .plain(Form.time(rounds.median(1)), ratio: rounds.ratio(0, to: 1))
        if bodies.count > 2 { row = row.gdkPixbuf(Form.time(rounds.median(2)), ratio: rounds.ratio(0, to: 2)) }
        if let most = each.most { row = row.bar("C × \(most)", rounds.ratio(0, to: 1), most: most) }
        row.report()
    }
}

/// The memory of one thumbnail beyond its pixels, in a process that has made a small one before.
struct DecodeMemoryBench {
    private let options: Options

    init(_ options: Options) { self.options = options }

    func run() throws {
        let kind = options.only
        let data = try options.file(kind == "progressive" ? "progressive.jpg" : "photo.\(kind)")
        _ = try PictureReader.picture(try options.file(kind == "progressive" ? "small.jpg" : "small.\(kind)"), size: PixelSize(64, 64))
        var pixels = 0
        let grown = try growth { pixels = try PictureReader.picture(data, size: PixelSize(256, 256)).byteCount }
        let beyond = max(0, grown - Double(pixels))
        let row = ReportRow("\(kind) to 256 px: memory", "resident memory at its highest, without file and result", Form.bytes(beyond))
        (kind == "jpg" ? row.bar("4 MiB", beyond, most: 4 * 1_048_576) : row).report()
    }
}
