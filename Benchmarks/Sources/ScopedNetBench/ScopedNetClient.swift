import BenchKit
import FoundationEssentials
import Glibc
import ScopedNet

/// ScopedNet as one would use it: a new request each time, in a bag.
struct ScopedNetClient: BenchClient {
    /// What is asked of each request besides its body; the rows of the scenario "overhead".
    private enum Extras { case bare, bag, bagAndMetrics }

    let session: Session
    private let bag = DeallocBag()
    private let extras: Extras

    init(options: Options) {
        extras =
            switch options.text("extras") {
            case "0": .bare
            case "1": .bagAndMetrics
            default: .bag
            }
        var configuration = Session.Configuration()
        configuration.limits.perHost = options.connections
        configuration.limits.total = options.connections
        configuration.limits.streamsPerHost = options.connections
        configuration.limits.queued = max(options.requests, configuration.limits.queued)
        if extras == .bare { configuration.options.validation = .any }
        if let authority = options.certificateAuthority { configuration.tls.certificateAuthority = .file(authority) }
        session = Session(configuration: configuration)
    }

    func get(_ url: String, completion: @escaping @Sendable (Int) -> Void) {
        let request = session.request(url).onFailure { fail("\(url): \($0)") }
        switch extras {
        case .bare:
            request.onResponse { completion($0.value.count) }.start()
        case .bag:
            request.onSuccess { completion($0.count) }.start(in: bag)
        case .bagAndMetrics:
            request.onResponse { response in
                guard response.metrics.total > .zero else { fail("\(url): no metrics") }
                completion(response.value.count)
            }.start(in: bag)
        }
    }

    func get(_ url: String) async -> Int {
        do {
            return try await session.request(url).value(in: bag).count
        } catch {
            fail("\(url): \(error)")
        }
    }

    func items(_ url: String) async -> Int {
        do {
            return try await session.request(url, decoder: .json([Item].self)).value(in: bag).count
        } catch {
            fail("\(url): \(error)")
        }
    }

    func items(_ url: String, completion: @escaping @Sendable (Int) -> Void) {
        session.request(url, decoder: .json([Item].self)).onFailure { fail("\(url): \($0)") }.onSuccess { completion($0.count) }
            .start(in: bag)
    }

    func upload(_ path: String, to url: String, completion: @escaping @Sendable (Int) -> Void) {
        do {
            var form = MultipartForm()
            form.add("a file", name: "title")
            try form.add(file: URL(filePath: path), name: "file")
            session.upload(url, from: form).onFailure { fail("\(url): \($0)") }.onResponse { completion($0.status) }.start(in: bag)
        } catch {
            fail("\(path): \(error)")
        }
    }

    func download(_ url: String, to path: String, completion: @escaping @Sendable (Int) -> Void) {
        session.download(url, to: URL(filePath: path))
            .onFailure { fail("\(url): \($0)") }
            .onSuccess { file in
                var status = stat()
                guard stat(file.path, &status) == 0 else { fail("\(path): errno \(errno)") }
                completion(Int(status.st_size))
            }
            .start(in: bag)
    }
}
