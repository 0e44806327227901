import CMainLoopGLib
import Dispatch
import Foundation
import GLibMainLoop

/// The life of the bridge, in a process of its own for each.
@MainActor
enum Scenarios {
    /// All ways to the main queue arrive, on the main thread, from each other as well.
    static func tasks() throws {
        try MainQueueBridge.install()
        let loop = Loop()
        Task {
            print("task \(Thread.isMainThread)")
            try await Task.sleep(for: .milliseconds(1))
            print("sleep \(Thread.isMainThread)")
            await Task.detached { await MainActor.run { print("hop \(Thread.isMainThread)") } }.value
            DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(1)) {
                print("after \(Thread.isMainThread)")
                DispatchQueue.global().async { DispatchQueue.main.async { MainActor.assumeIsolated { loop.quit() } } }
            }
        }
        loop.run()
    }

    static func queuedBefore() throws {
        let loop = Loop()
        DispatchQueue.main.async { print("queued") }
        Task { loop.quit() }
        try MainQueueBridge.install()
        loop.run()
    }

    static func otherThread() throws {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            do { try MainQueueBridge.install() } catch { print("\(error)") }
            done.signal()
        }
        done.wait()
        print("\(MainQueueBridge.isInstalled)")
    }

    /// One installation, however often it is asked for.
    static func twice() throws {
        try MainQueueBridge.install()
        try MainQueueBridge.install(priority: 300)
        print("\(MainQueueBridge.isInstalled)")
        MainQueueBridge.uninstall()
        DispatchQueue.main.async { print("ran") }
        Loop.runReady()
        print("\(MainQueueBridge.isInstalled)")
    }

    static func uninstalling() throws {
        MainQueueBridge.uninstall()
        try MainQueueBridge.install()
        DispatchQueue.main.async {
            MainActor.assumeIsolated { MainQueueBridge.uninstall() }
            print("uninstalled")
        }
        Loop.runReady()
        DispatchQueue.main.async { print("ran") }
        Loop.runReady()
        print("again")
        try MainQueueBridge.install()
        Loop.runReady()
    }

    /// The main queue is serial: a nested loop in its work waits for GLib's sources alone.
    static func nestedInWork() throws {
        try MainQueueBridge.install()
        let loop = Loop()
        DispatchQueue.main.async {
            MainActor.assumeIsolated {
                let nested = Loop()
                DispatchQueue.main.async {
                    print("second")
                    MainActor.assumeIsolated { loop.quit() }
                }
                Loop.after(milliseconds: 20) { nested.quit() }
                nested.run()
                print("first")
            }
        }
        loop.run()
    }

    /// A nested loop in a callback of GLib serves the main queue as the outer one does.
    static func nestedInCallback() throws {
        try MainQueueBridge.install()
        let loop = Loop()
        Loop.onIdle {
            let nested = Loop()
            Task {
                print("nested")
                nested.quit()
            }
            nested.run()
            print("callback")
            loop.quit()
        }
        loop.run()
    }

    /// Work that always has more work to follow does not keep GLib from its own sources of the same priority.
    static func endlessWork() throws {
        try MainQueueBridge.install()
        let loop = Loop()
        Loop.after(milliseconds: 1) {
            print("timeout")
            loop.quit()
        }
        Task { while true { await Task.yield() } }
        loop.run()
    }
}
