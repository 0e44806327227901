import Persistence

extension Session.Configuration {
    /// Waits until what responses, cookies and credentials have changed is on disk; for two seconds at most, as no disk may keep a daemon
    /// from ending.
    func flushStores() async {
        // Their writings are queued at their stores here, and what is queued is written before the flush is over.
        cookies?.save()
        credentials?.save()
        hsts?.save()
        var stores: [Store] = []
        for store in [cache?.store, cookies?.store, credentials?.store, hsts?.store] {
            if let store, !stores.contains(where: { $0 === store }) { stores.append(store) }
        }
        await withTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { try? await store.flush(atMost: .seconds(2)) } }
        }
    }
}
