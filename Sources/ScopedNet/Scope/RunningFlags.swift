/// The flags of owners that say that their tasks are under way. Several tasks may have one: it falls with the last of them.
enum RunningFlags {
    /// A task's part in a flag.
    struct Part {
        fileprivate let flag: Flag
        fileprivate let generation: UInt64
    }

    fileprivate struct Flag: Hashable {
        let owner: ObjectIdentifier
        let path: AnyKeyPath
    }

    private struct Entry {
        weak var owner: AnyObject?
        let generation: UInt64
        var tasks: Int
    }

    private struct State {
        var entries: [Flag: Entry] = [:]
        var generations: UInt64 = 0
    }

    private static let state = Lock(State())

    /// A task begins.
    static func begin(_ owner: AnyObject, _ path: AnyKeyPath) -> Part {
        let flag = Flag(owner: ObjectIdentifier(owner), path: path)
        let generation = state.withLock { state in
            // An owner that has gone may have left tasks, and its address to this one. Nobody's last reference is dropped here: the caller has the
            // owner, and one at its address that is gone reads nil.
            if let known = state.entries[flag], known.owner === owner {
                state.entries[flag]?.tasks += 1
                return known.generation
            }
            state.generations += 1
            state.entries[flag] = Entry(owner: owner, generation: state.generations, tasks: 1)
            return state.generations
        }
        return Part(flag: flag, generation: generation)
    }

    /// A task has ended. True for the last one of its flag.
    static func end(_ part: Part) -> Bool {
        state.withLock { state in
            guard let entry = state.entries[part.flag], entry.generation == part.generation else { return false }
            if entry.tasks > 1 {
                state.entries[part.flag]?.tasks = entry.tasks - 1
                return false
            }
            state.entries[part.flag] = nil
            return true
        }
    }
}
