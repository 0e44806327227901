import GLibMainLoop

// A process whose libdispatch has no descriptor of its main queue: this definition is found before that of the library.

/// The answer of a libdispatch that has no descriptors left.
@_cdecl("_dispatch_get_main_queue_handle_4CF")
public func missingDescriptor() -> Int32 { -1 }

do {
    try MainQueueBridge.install()
    print("installed")
} catch { print("\(error) \(MainQueueBridge.isInstalled)") }
