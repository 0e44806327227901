import Glibc

/// The system calls a download's file is made with, so that a test can let one of them fail.
package struct FileCalls: Sendable {
    package var write: @Sendable (Int32, UnsafeRawPointer?, Int) -> Int
    package var close: @Sendable (Int32) -> Int32
    /// Gives a file without a name one that is free.
    package var name: @Sendable (Int32, String) -> Int32
    package var rename: @Sendable (String, String) -> Int32
    package var synchronize: @Sendable (Int32) -> Int32

    package static let system = FileCalls(
        write: { Glibc.write($0, $1, $2) }, close: { Glibc.close($0) },
        name: { linkat(AT_FDCWD, "/proc/self/fd/\($0)", AT_FDCWD, $1, AT_SYMLINK_FOLLOW) }, rename: { Glibc.rename($0, $1) },
        synchronize: { fdatasync($0) })
}
