import CEpoll
import CleanSlate
import Foundation
import Glibc
import SystemSupport
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized) struct LoopRegistryTests {
    @Test func eachThreadIsWoken() {
        let registry = LoopRegistry()
        let descriptors = (0..<3).map { _ in eventfd(0, SEVENTFD_FLAGS) }
        for descriptor in descriptors { registry.add(descriptor) }
        registry.remove(descriptors[1])
        registry.wakeAll()
        var count: UInt64 = 0
        #expect(descriptors.map { read($0, &count, 8) } == [8, -1, 8])
        for descriptor in descriptors { close(descriptor) }
    }

    /// The number of a descriptor that was removed and closed is soon another file's.
    @Test func aDescriptorThatWasRemovedIsNotWrittenTo() {
        let registry = LoopRegistry()
        let isDone = Lock(false)
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while !isDone.withLock({ $0 }) { registry.wakeAll() }
            ended.signal()
        }
        var strangers = 0
        for _ in 0..<20_000 {
            let own = eventfd(0, SEVENTFD_FLAGS)
            registry.add(own)
            registry.remove(own)
            close(own)
            let next = eventfd(0, SEVENTFD_FLAGS)
            sched_yield()
            var count: UInt64 = 0
            if read(next, &count, 8) == 8 { strangers += 1 }
            close(next)
        }
        isDone.withLock { $0 = true }
        ended.wait()
        #expect(strangers == 0)
    }
}
