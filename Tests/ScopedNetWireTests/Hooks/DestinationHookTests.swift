import CleanSlate
import Foundation
import Glibc
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// SES-9, YTK-12: where a download goes is decided when its response is accepted, and before anything is written.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct DestinationHookTests {
    private let folder = TemporaryFolder()
    private func file(_ name: String) -> URL { URL(filePath: folder.path + "/" + name) }
    private var folderURL: URL { URL(filePath: folder.path, directoryHint: .isDirectory) }

    @Test(arguments: FrontDoor.allCases, [0, 5, 3 << 20])
    func theHookNamesTheFile(door: FrontDoor, count: Int) async throws {
        try await withWire { wire async throws in
            wire.server.on("/a/report.txt", .ok(.bytes(Array(bytes(count)))))
            let asked = Gathered<RequestHooks.IncomingDownload>()
            let (given, chosen) = (file("given"), file("chosen"))
            let request = wire.session.download(wire.url + "/a/report.txt?x=1", to: given).chooseDestination { arrival in
                asked.add(arrival)
                return chosen
            }
            let report = try await door.send(request)
            #expect(report.outcome == .success("\(chosen)"))
            let arrival = try #require(asked.all.first)
            #expect(asked.all.count == 1)
            #expect(arrival.proposed == given)
            #expect(arrival.suggestedName == "report.txt")
            #expect(arrival.head.status == 200)
            #expect(folder.names == ["chosen"])
            #expect(folder.contents(of: "chosen").isSame(as: bytes(count)))
            #expect(try request.result?.get().file == chosen)
        }
    }

    @Test func theRequestsHookGoesBeforeTheSessions() async throws {
        let (given, sessions, requests) = (file("given"), file("session"), file("request"))
        try await withWire {
            $0.options.hooks.destination = { _ in sessions }
        } _: { wire async throws in
            wire.server.on("/", .ok("there"))
            let request = wire.session.download(wire.url + "/", to: given).chooseDestination { _ in requests }
            let first = try await request.value()
            // It was for one start.
            let second = try await request.value()
            #expect(first == requests && second == sessions)
            #expect(folder.names == ["request", "session"])
        }
    }

    @Test func aFolderGetsTheServersNameMadeSafe() async throws {
        try await withWire { wire async throws in
            wire.server.on("/plain.txt", .ok("1"))
            wire.server.on("/get", .ok("2").header("Content-Disposition", "attachment; filename=\"../../.ssh/keys.txt\""))
            let first = try await wire.session.download(wire.url + "/plain.txt", to: folderURL).value()
            #expect(first == file("plain.txt"))
            let second = try await wire.session.download(wire.url + "/get", to: folderURL).response()
            #expect(second.value == file("keys.txt"))
            #expect(second.file == second.value)
            // Of the URL that answered, not of the one that was asked.
            wire.server.on("/old", .redirect(to: "/new%2Fname.bin"))
            wire.server.on("/*", .ok("3"))
            #expect(try await wire.session.download(wire.url + "/old", to: folderURL).value() == file("name.bin"))
            let (given, target) = (file("given"), folderURL)
            let hooked = wire.session.download(wire.url + "/get", to: given).chooseDestination { _ in target }
            #expect(try await hooked.value() == file("keys (1).txt"))
            #expect(folder.names == ["keys (1).txt", "keys.txt", "name.bin", "plain.txt"])
        }
    }

    /// The server's word must not choose which of the user's files goes (RFC 6266 section 4.3).
    @Test func aNameOfTheServersReplacesNothing() async throws {
        try await withWire { wire async throws in
            _ = folder.write("mine", to: "keys.txt")
            mkdir(folder.path + "/keys (1).txt", 0o700)
            symlink("nowhere", folder.path + "/keys (2).txt")
            wire.server.on("/get", .ok("2").header("Content-Disposition", "attachment; filename=keys.txt"))
            let response = try await wire.session.download(wire.url + "/get", to: folderURL).response()
            #expect(response.value == file("keys (3).txt") && response.file == response.value)
            #expect(folder.contents(of: "keys.txt") == Data("mine".utf8))
            #expect(folder.contents(of: "keys (3).txt") == Data("2".utf8))
            let target = folderURL
            let disposed = wire.session.download(wire.url + "/get", to: file("given")).decideDisposition { _ in .download(to: target) }
            #expect(try await disposed.value() == file("keys (4).txt"))
            // A file that the program names is replaced, as ever.
            #expect(try await wire.session.download(wire.url + "/get", to: file("keys.txt")).value() == file("keys.txt"))
            #expect(folder.contents(of: "keys.txt") == Data("2".utf8))
            #expect(folder.names == ["keys (1).txt", "keys (2).txt", "keys (3).txt", "keys (4).txt", "keys.txt"])
        }
    }

    @Test func manyFilesOfOneNameAtOnceAreManyFiles() async throws {
        try await withWire { wire async throws in
            wire.server.on("/get", .ok(.bytes(Array(bytes(100_000)))).header("Content-Disposition", "attachment; filename=a.bin"))
            let target = folderURL
            let files = try await withThrowingTaskGroup(of: URL.self) { group in
                for _ in 0..<8 { group.addTask { try await wire.session.download(wire.url + "/get", to: target).value() } }
                return try await group.reduce(into: Set<URL>()) { $0.insert($1) }
            }
            #expect(files.count == 8 && folder.names.count == 8)
            for name in folder.names { #expect(folder.contents(of: name).isSame(as: bytes(100_000))) }
        }
    }

    @Test func aDispositionThatSaysWhereGoesFirst() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("there"))
            let (given, chosen) = (file("given"), file("chosen"))
            let asked = Counter()
            let request = wire.session.download(wire.url + "/", to: given).decideDisposition { _ in .download(to: chosen) }
                .chooseDestination { _ in
                    asked.add()
                    return given
                }
            #expect(try await request.value() == chosen)
            let allowed = wire.session.download(wire.url + "/", to: given).decideDisposition { _ in .allow }.chooseDestination { _ in
                asked.add()
                return given
            }
            #expect(try await allowed.value() == given)
            #expect(asked.value == 1)
            #expect(folder.names == ["chosen", "given"])
        }
    }

    // Defect 3
    @Test func errorsAskForNoFile() async throws {
        let asked = Counter()
        try await withWire {
            $0.options.hooks.destination = { arrival in
                asked.add()
                return arrival.proposed
            }
        } _: { wire async throws in
            wire.server.on("/gone", .status(404))
            #expect(try await wire.session.download(wire.url + "/gone", to: file("a")).failure().code == .unacceptableStatus)
            wire.server.on("/page", .ok("<html>"))
            let typed = wire.session.download(wire.url + "/page", to: file("a")).options { $0.validation.contentTypes = .only(["image/*"]) }
            #expect(try await typed.failure().code == .unacceptableContentType)
            // What is no download needs none.
            _ = try await wire.get("/page").value()
            #expect(asked.value == 0)
            #expect(folder.names.isEmpty)
        }
    }

    @Test func badAnswersAreErrors() async throws {
        struct Refusal: Error {}
        try await withWire { wire async throws in
            wire.server.on("/", .ok("there"))
            func code(_ answer: @escaping @Sendable () throws -> URL) async throws -> NetworkError.Code {
                try await wire.session.download(wire.url + "/", to: file("a")).chooseDestination { _ in try answer() }.failure().code
            }
            let remote = try #require(URL(string: "https://h/file"))
            #expect(try await code { remote } == .invalidOption)
            let odd = try #require(URL(string: "file:///tmp/a%00b"))
            #expect(try await code { odd } == .fileUnwritable)
            #expect(try await code { throw Refusal() } == .hookFailed)
            let lost = file("no/such/folder")
            #expect(try await code { lost } == .fileUnwritable)
            #expect(folder.names.isEmpty)
        }
    }

    @Test func aStoredResponseIsAskedAboutToo() async throws {
        try await withCache { cached async throws in
            let body = bytes(300_000)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            for name in ["network", "cache"] {
                let (given, chosen) = (file("given"), file(name))
                let response = try await cached.wire.session.download(cached.server.url + "/", to: given).chooseDestination { _ in chosen }
                    .response()
                #expect(response.source == (name == "network" ? .network : .cache))
                #expect(response.value == chosen)
                #expect(folder.contents(of: name).isSame(as: body))
            }
            #expect(folder.names == ["cache", "network"])
            #expect(cached.server.requests.count == 1)
            struct Refusal: Error {}
            let refused = cached.wire.session.download(cached.server.url + "/", to: file("given")).chooseDestination { _ in
                throw Refusal()
            }
            #expect(try await refused.failure().code == .hookFailed)
        }
    }

    @Test(arguments: [200, 204]) func aStoredResponseWithoutABodyIsAskedAboutToo(_ status: Int) async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.status(status).header("Cache-Control", "max-age=60"))
            for name in ["network", "cache"] {
                let (given, chosen) = (file("given"), file(name))
                let response = try await cached.wire.session.download(cached.server.url + "/", to: given).chooseDestination { _ in chosen }
                    .response()
                #expect(response.source == (name == "network" ? .network : .cache))
                #expect(response.value == chosen && folder.contents(of: name) == Data())
            }
            #expect(folder.names == ["cache", "network"])
        }
    }

    @Test(arguments: FrontDoor.allCases)
    func aCancelDoesNotWaitForTheHook(door: FrontDoor) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok(.bytes(Array(bytes(3 << 20)))))
            let (asked, never) = (Latch(), Latch())
            let given = file("given")
            let request = wire.session.download(wire.url + "/", to: given).chooseDestination { _ in
                asked.open()
                await never.wait()
                return given
            }
            let report = try await door.send(request) { handle in
                await asked.wait()
                handle.cancel()
            }
            never.open()
            #expect(report.outcome == .cancelled(door.ownReason))
            #expect(folder.names.isEmpty)
        }
    }
}
