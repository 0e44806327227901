import Glibc
import Persistence

/// Becomes another user, opens a store, and says what came of it.
enum Trust {
    static func run() async {
        let user = uid_t(number(2))
        guard setgroups(0, nil) == 0, setgid(user) == 0, setuid(user) == 0 else {
            fail("no such user: \(String(cString: strerror(errno)))")
        }
        let store = Store(StoreConfiguration(directory: argument(1)))
        switch await store.opened() {
        case .open: say("open")
        case .memoryOnly(let reason): say(reason)
        default: fail("\(store.condition)")
        }
        await store.close()
    }
}
