import Foundation
import ScopedNetImages

/// A decoder in a process of its own beside the one in this process: wall time, as two processes take part.
struct IsolationBench {
    private let options: Options

    init(_ options: Options) { self.options = options }

    func run() throws {
        for kind in ["beside this program", "static"] {
            var configuration = IsolatedDecoder.Configuration()
            if kind == "static" {
                configuration.helperPath = "\(options.files)/scopednet-decoder-static"
                guard access("\(options.files)/scopednet-decoder-static", X_OK) == 0 else { continue }
            }
            try cold(configuration, kind == "static" ? "helper without shared libraries" : "helper as `swift build` makes it")
        }
        let decoder = IsolatedDecoder()
        try decoder.prepare()
        for (name, size) in [
            ("small.jpg", nil), ("small.png", nil), ("small.webp", nil), ("medium.jpg", nil), ("medium.png", nil), ("medium.webp", nil),
            ("photo.jpg", PixelSize(256, 192)),
        ] { try warm(decoder, name, size) }
        for name in ["photo.jpg", "photo.png", "photo.webp"] { try large(decoder, name) }
    }

    private func cold(_ configuration: IsolatedDecoder.Configuration, _ kind: String) throws {
        let data = try options.file("small.jpg")
        let rounds = try Rounds(
            max(21, options.rounds),
            [
                {
                    let decoder = IsolatedDecoder(configuration)
                    return try time(data, decoder)
                }, { try time(data) },
            ])
        let extra = rounds.difference(0, to: 1)
        ReportRow("isolated, cold", "\(kind), a JPEG of 200 × 150; more than in process", Form.time(extra)).bar("3 ms", extra, most: 3_000)
            .report()
    }

    private func warm(_ decoder: IsolatedDecoder, _ name: String, _ size: PixelSize?) throws {
        let data = try options.file(name)
        let rounds = try Rounds(max(41, options.rounds), [{ try time(data, decoder, size) }, { try time(data, nil, size) }])
        let (extra, header) = (rounds.difference(0, to: 1), try PictureReader.header(data))
        let target = size.map { " to \($0.width) × \($0.height)" } ?? ""
        ReportRow(
            "isolated, warm: \(name)\(target)", "\(header.width) × \(header.height); more than in process",
            "\(Form.time(extra)) (\(Form.time(rounds.median(0))), in process \(Form.time(rounds.median(1))))"
        ).bar("0.5 ms", extra, most: 500).report()
    }

    private func large(_ decoder: IsolatedDecoder, _ name: String) throws {
        let data = try options.file(name)
        let rounds = try Rounds(options.rounds, [{ try time(data, decoder) }, { try time(data) }])
        let ratio = rounds.ratio(0, to: 1)
        ReportRow(
            "isolated, warm: \(name)", "12 Mpx; divided by the same in process",
            "\(String(format: "%.2f", ratio)) (\(Form.time(rounds.median(0))), in process \(Form.time(rounds.median(1))))"
        ).bar("1.25", ratio, most: 1.25).report()
    }

    /// The time of one decoding, in this process where there is no isolated decoder.
    private func time(_ data: Data, _ decoder: IsolatedDecoder? = nil, _ size: PixelSize? = nil) throws -> Double {
        let header = try PictureReader.header(data)
        let chosen: any ImageDecoding = try decoder ?? PictureReader.decoder(for: header.format)
        return try Stopwatch.wall { _ = try chosen.decode(data, header: header, options: ImageDecodingOptions(size: size)) }
    }
}
