import SystemSupport

/// The flags of owners that say that their tasks are under way. Several tasks may have one: it falls with the last of them.
enum RunningFlags {
    /// A task's part in a flag.
    struct Part {
        fileprivate let owner: ObjectIdentifier
        fileprivate let generation: UInt64
        fileprivate let path: AnyKeyPath
    }

    private struct Flag {
        var tasks: Int
        /// The actor of the latest of them.
        var actor: ObjectIdentifier?
    }

    private struct Entry {
        weak var owner: AnyObject?
        let generation: UInt64
        var flags: [AnyKeyPath: Flag] = [:]
    }

    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var generations: UInt64 = 0
    }

    private static let state = Lock(State())

    /// A task begins.
    static func begin(_ owner: AnyObject, _ path: AnyKeyPath, on actor: ObjectIdentifier? = nil) -> Part {
        let id = ObjectIdentifier(owner)
        let generation = state.withLock { state in
            // An owner that has gone may have left tasks, and its address to this one. Nobody's last reference is dropped here: the caller has the
            // owner, and one at its address that is gone reads nil.
            if state.entries[id].map({ $0.owner !== owner }) ?? true {
                state.generations += 1
                state.entries[id] = Entry(owner: owner, generation: state.generations)
            }
            state.entries[id]?.flags[path, default: Flag(tasks: 0)].tasks += 1
            state.entries[id]?.flags[path]?.actor = actor
            return state.entries[id]?.generation ?? 0
        }
        return Part(owner: id, generation: generation, path: path)
    }

    /// A task has ended. True for the last one of its flag.
    static func end(_ part: Part) -> Bool {
        state.withLock { state in
            guard let entry = state.entries[part.owner], entry.generation == part.generation, let flag = entry.flags[part.path] else {
                return false
            }
            state.entries[part.owner]?.flags[part.path] = flag.tasks > 1 ? Flag(tasks: flag.tasks - 1, actor: flag.actor) : nil
            if flag.tasks == 1, entry.flags.count == 1 { state.entries[part.owner] = nil }
            return flag.tasks == 1
        }
    }

    /// The owner's other flags that tasks of this actor have.
    static func others(than part: Part, on actor: ObjectIdentifier) -> [AnyKeyPath] {
        state.withLock { state in
            guard let entry = state.entries[part.owner], entry.generation == part.generation else { return [] }
            return entry.flags.filter { $0.key != part.path && $0.value.actor == actor }.map(\.key)
        }
    }
}
