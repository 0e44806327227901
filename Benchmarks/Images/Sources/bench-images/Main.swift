import Foundation

// The cost of pictures beside plain libjpeg-turbo, libpng and libwebp in C, and gdk-pixbuf where there is one.
//
//     bench-images PART files=DIRECTORY [rounds=N] [url=URL] [gdk=PROGRAM] [log=FILE]
//
// `Scripts/bench --only images` makes the files, starts a server and runs each part in a process of its own. Each row of its table is
// a line of JSON here. `url` and `log` are the server's, whose log counts transfers and their bytes.

@main struct Main {
    static func main() async throws {
        let options = Options()
        switch options.part {
        case "make": try SampleFiles(options.files).make()
        case "memory": try MemoryCacheBench(rounds: options.rounds).run()
        case "decode": try DecodeBench(options).run()
        case "decode-memory": try DecodeMemoryBench(options).run()
        case "bombs": try BombBench(options).run()
        case "pressure": try await PressureBench(rounds: options.rounds).run()
        case "previews": try await PreviewBench(options).run()
        case "isolated": try IsolationBench(options).run()
        case "gallery": try await GalleryBench(options).run()
        case "transfers": try await TransferBench(options).run()
        default: fail("no part \(options.part)")
        }
    }
}
