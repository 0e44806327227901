package import FoundationEssentials
import SystemSupport

@_spi(Transport) extension BodyDestination {
    /// A body that is collected in memory and looked at meanwhile: each look is a view of the bytes that have come, and copies nothing.
    ///
    /// The transport appends, on one thread; anybody may look.
    public final class Collected: Sendable {
        /// Memory that goes with the last view of it.
        private final class Block: @unchecked Sendable {
            // Safety: bytes from the published count on are written by the transport's thread alone, those before it are not changed any more; the count
            // is published under the lock, behind the bytes.
            let memory: UnsafeMutableRawPointer
            let capacity: Int
            private let pages: PageBlock?

            init?(_ size: Int) {
                if size > BodyPool.largest {
                    guard let pages = PageBlock(byteCount: size) else { return nil }
                    (memory, capacity, self.pages) = (pages.start, size, pages)
                } else {
                    guard let (start, room) = BodyPool.take(size) else { return nil }
                    (memory, capacity, pages) = (start, room, nil)
                }
            }

            deinit { if let pages { pages.release() } else { BodyPool.give(memory, capacity: capacity) } }
        }

        /// The longest body that has memory for all of it from the start, by what its response says.
        static let maxReserved = 64 << 20

        private struct State: Sendable {
            var block: Block?
            var count = 0
        }

        private let state = Lock(State())

        package init() {}

        /// The bytes that have come so far.
        package var data: Data {
            let now = state.withLock { $0 }
            guard let block = now.block, now.count > 0 else { return Data() }
            return Data(bytesNoCopy: block.memory, count: now.count, deallocator: .custom { _, _ in withExtendedLifetime(block) {} })
        }

        /// The number of bytes that have come so far.
        package var count: Int { state.withLock { $0.count } }

        /// A hint; without memory for it the body grows as it comes.
        func reserve(_ expected: Int) {
            let now = state.withLock { $0 }
            let wanted = min(expected, Self.maxReserved)
            if wanted > now.block?.capacity ?? 0, let block = Self.block(wanted, from: now) { publish(block, now.count) }
        }

        /// Adds bytes. One thread at a time.
        ///
        /// - Returns: false when there is no memory; what was collected stays.
        package func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
            guard let source = bytes.baseAddress, !bytes.isEmpty else { return true }
            let now = state.withLock { $0 }
            let (count, capacity) = (now.count + bytes.count, now.block?.capacity ?? 0)
            let wanted = max(count, min(capacity * 2, capacity + (16 << 20)))
            guard let block = count <= capacity ? now.block : Self.block(wanted, from: now) else { return false }
            block.memory.advanced(by: now.count).copyMemory(from: source, byteCount: bytes.count)
            publish(block, count)
            return true
        }

        private static func block(_ size: Int, from old: State) -> Block? {
            guard let block = Block(size) else { return nil }
            if let before = old.block { block.memory.copyMemory(from: before.memory, byteCount: old.count) }
            return block
        }

        private func publish(_ block: Block, _ count: Int) {
            // The old block is let go outside the lock.
            let old = state.withLock { state in
                defer { state = State(block: block, count: count) }
                return state
            }
            _ = old
        }
    }
}

package typealias CollectedBody = BodyDestination.Collected
