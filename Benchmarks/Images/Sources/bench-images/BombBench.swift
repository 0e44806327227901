import Foundation
import ScopedNetImages

/// Hostile files, each refused or decoded within its budget.
struct BombBench {
    private let options: Options
    private let peer: GDKPixbufPeer?

    init(_ options: Options) { (self.options, peer) = (options, GDKPixbufPeer(options)) }

    func run() throws {
        // Code that is not loaded yet is not the bomb's.
        for name in ["small.jpg", "small.png", "small.webp"] { _ = try PictureReader.picture(try options.file(name)) }
        for bomb in Bomb.all where bomb.name.hasPrefix(options.only) { try run(bomb) }
    }

    private func run(_ bomb: Bomb) throws {
        let path = "\(options.files)/bombs/\(bomb.file)"
        let data = try Data(contentsOf: URL(filePath: path))
        var outcome = ""
        var times: [Double] = []
        let grown = growth { times.append(Stopwatch.thread { outcome = read(data, bomb.reading) }) }
        for _ in 0..<min(options.rounds, 5) { times.append(Stopwatch.thread { outcome = read(data, bomb.reading) }) }
        let time = times.dropFirst().sorted()[times.count / 2 - 1]
        let figure = "\(Form.time(time)), first time \(Form.time(times[0])), \(Form.bytes(grown)); \(outcome)"
        var row = ReportRow("bomb: \(bomb.name)", bomb.measured, figure)
        switch bomb.budget {
        case .header:
            (row.bar, row.isMet) = ("1 ms, 1 MiB", times[0] <= 1_000 && time <= 1_000 && grown <= 1_048_576)
            if let peer {
                // No loader for WebP is part of it.
                let asked = bomb.file.hasSuffix("webp") ? nil : peer.ask("header 40000000 \(path)")
                row = row.gdkPixbuf(asked.map { Form.time($0.time) + ($0.hasPicture ? ", decoded" : "") }, ratio: nil)
            }
        case .limit(let bytes):
            (row.bar, row.isMet) = ("50 ms, \(Form.bytes(Double(bytes)))", time <= 50_000 && grown <= Double(bytes))
        }
        row.report()
    }

    private func read(_ data: Data, _ reading: Bomb.Reading) -> String {
        do {
            if reading == .animation { return "\(try AnimatedImage(data).frameCount) frames" }
            let image = try PictureReader.picture(data)
            return "decoded, \(image.width) × \(image.height)"
        } catch ImageError.exceeds(let limit, _, _) {
            return "refused by \(limit.rawValue)"
        } catch {
            return "\(error)"
        }
    }
}
