import CleanSlate
import Foundation
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct NetrcTests {
    @Test func namesAndPasswordsByMachine() throws {
        let netrc = try Netrc(
            """
            # mine
            machine Example.com login ann password secret account 7
            machine other.test
                login bob
                password "with blanks \\"and\\" \\\\ and\\ttabs"
            default login any password whatever
            """)
        #expect(netrc.entries.map(\.machine) == ["example.com", "other.test", nil])
        #expect(netrc.entries.first?.account == "7")
        #expect(netrc.credential(for: "EXAMPLE.com", usesDefault: false) == .basic(user: "ann", password: "secret"))
        let other = Credential.basic(user: "bob", password: "with blanks \"and\" \\ and\ttabs")
        #expect(netrc.credential(for: "other.test", usesDefault: false) == other)
        #expect(netrc.credential(for: "third.test", usesDefault: false) == nil)
        #expect(netrc.credential(for: "third.test", usesDefault: true) == .basic(user: "any", password: "whatever"))
    }

    @Test func theFirstEntryWithAPasswordCounts() throws {
        let netrc = try Netrc("machine a login x\nmachine a login y password 1\nmachine a login z password 2")
        #expect(netrc.credential(for: "a", usesDefault: false) == .basic(user: "y", password: "1"))
    }

    @Test func aDefaultBeforeAMachineIsStillTheLast() throws {
        let netrc = try Netrc("default password d\nmachine a password 1")
        #expect(netrc.credential(for: "a", usesDefault: true) == .basic(user: "", password: "1"))
        #expect(netrc.credential(for: "b", usesDefault: true) == .basic(user: "", password: "d"))
    }

    @Test func macrosArePassedOver() throws {
        let netrc = try Netrc("machine a login x password 1\nmacdef init\ncd /\nmachine no password no\n\n# mine\nmachine b password 2")
        #expect(netrc.entries.map(\.machine) == ["a", "b"])
        #expect(try Netrc("macdef init\nput x").entries.isEmpty)
    }

    @Test func addressesOfIPv6HaveNoBrackets() throws {
        #expect(try Netrc("machine ::1 password 1").credential(for: "[::1]", usesDefault: false) == .basic(user: "", password: "1"))
    }

    /// A password may begin with `#`, and a comment only stands at the start of a line.
    @Test func aHashIsNoCommentWithinALine() throws {
        let netrc = try Netrc("machine a login x password #1\n  # machine b password 2\nmachine c password 3 ")
        #expect(netrc.credential(for: "a", usesDefault: false) == .basic(user: "x", password: "#1"))
        #expect(netrc.entries.map(\.machine) == ["a", "c"])
    }

    @Test(arguments: [
        ("machine", 1), ("machine a\nlogin", 2), ("login x", 1), ("machine a password \"open\nmore", 1), ("machine a\npasword x", 2),
        ("machine a password \"open\\", 1),
    ])
    func whatIsMalformedIsSaidWithItsLine(_ text: String, _ line: Int) throws {
        let error = #expect(throws: NetworkError.self) { try Netrc(text) }
        #expect(error?.code == .invalidOption)
        #expect(error?.message.hasPrefix("line \(line) ") == true)
        #expect(error?.message.contains("open") == false)
    }

    // MARK: The file

    private func file(_ text: String, mode: Int, in folder: TemporaryFolder) throws -> String {
        let path = folder.write(text, to: "netrc")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @Test func aFileOfOnesOwnIsRead() throws {
        let folder = TemporaryFolder()
        let path = try file("machine a.test login ann password 1", mode: 0o600, in: folder)
        let store = try CredentialStore.netrc(file: path)
        let space = try ProtectionSpace("https://a.test:8443/x", realm: "any")
        #expect(store.credential(for: space) == .basic(user: "ann", password: "1"))
        #expect(store.credential(for: try ProtectionSpace("http://a.test", isProxy: true)) == nil)
        #expect(store.spaces.isEmpty)
        store.set(.bearer("t"), for: space)
        #expect(store.credential(for: space) == .bearer("t"))
    }

    @Test(arguments: [0o644, 0o640, 0o620, 0o602])
    func aFileThatOthersMayReadOrWriteIsRefused(_ mode: Int) throws {
        let folder = TemporaryFolder()
        let path = try file("machine a.test login ann password 1", mode: mode, in: folder)
        let error = #expect(throws: NetworkError.self) { try CredentialStore.netrc(file: path) }
        #expect(error?.code == .fileUnreadable)
    }

    @Test func whatIsNoFileIsRefused() throws {
        let folder = TemporaryFolder()
        for path in [folder.path, folder.path + "/none", "/dev/null", "with\0nul"] {
            let error = #expect(throws: NetworkError.self) { try CredentialStore.netrc(file: path) }
            #expect(error?.code == .fileUnreadable)
        }
        let large = try file(String(repeating: " ", count: 1 << 20 + 1), mode: 0o600, in: folder)
        let error = #expect(throws: NetworkError.self) { try CredentialStore.netrc(file: large) }
        #expect(error?.code == .fileUnreadable)
    }
}
