import CNetlink
import Glibc
import SystemSupport

/// `resolv.conf`, and hearing when it is replaced. It is often a link: the folder of the link and that of its target are watched.
struct ResolverFile: ~Copyable {
    let descriptor: Int32
    private let path: String
    private var names: Set<String> = []
    private var watches: [Int32] = []

    init(path: String) {
        self.path = path
        // Without a descriptor for it the file is read at the start and when something else happens.
        descriptor = inotify_init1(CNL_INOTIFY_FLAGS)
        watch()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static let mostBytes = 64 << 10

    func nameServers() -> [IPAddress] {
        var text = (SmallFile.text(at: path, limit: Self.mostBytes) ?? "")[...]
        // Half a line names another server.
        if text.utf8.count >= Self.mostBytes { text = text.prefix(through: text.lastIndex { $0.isNewline } ?? text.startIndex) }
        return ResolverConfiguration(text: text).nameServers
    }

    private mutating func watch() {
        guard descriptor >= 0 else { return }
        for watch in watches { inotify_rm_watch(descriptor, watch) }
        var paths = [path]
        if let target = realpath(path, nil) {
            paths.append(String(cString: target))
            free(target)
        }
        names = []
        watches = []
        for path in paths {
            guard let slash = path.lastIndex(of: "/") else { continue }
            let folder = slash == path.startIndex ? "/" : String(path[..<slash])
            names.insert(String(path[path.index(after: slash)...]))
            let watch = inotify_add_watch(descriptor, folder, CNL_WATCH_DIRECTORY)
            if watch >= 0, !watches.contains(watch) { watches.append(watch) }
        }
    }

    /// Reads the events away.
    ///
    /// - Returns: whether the file may have changed; the other files of its folder are nobody's business.
    mutating func clear(_ buffer: UnsafeMutableRawBufferPointer) -> Bool {
        var changed = false
        while true {
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            guard count > 0 else { break }
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while let length = rest.value(at: 12, as: UInt32.self).map(Int.init), rest.count >= 16 + length {
                let watch = rest.value(at: 0, as: Int32.self) ?? -1
                let mask = rest.value(at: 4, as: UInt32.self) ?? 0
                // That a watch of before is gone is our own doing.
                let isOurDoing = mask & UInt32(IN_IGNORED) != 0 && !watches.contains(watch)
                // No name: the folder itself went, or events were lost.
                if length == 0 ? !isOurDoing : names.contains(rest.slice(from: 16, to: 16 + length).text) { changed = true }
                rest = rest.slice(from: 16 + length, to: rest.count)
            }
        }
        if changed { watch() }
        return changed
    }
}
