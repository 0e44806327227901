import Foundation
import ScopedNet

// The samples of Layers.md, word for word (see `DocumentationTests`), in a target without package access.

extension Session {
    /// Loads several pages of text, and hands all of them over at once.
    func pages(
        _ paths: [String], in bag: DeallocBag, progress: Callback<Int>, done: Callback<[String]>, failed: Callback<any Error>
    ) -> ScopedOperation {
        let operation = ScopedOperation(in: bag, of: self) { _ in
            progress.discard()
            done.discard()
            failed.discard()
        }
        operation.steps.task { [self] in
            do {
                var pages: [String] = []
                for path in paths {
                    pages.append(try await get(path, as: String.self).value())
                    operation.send(pages.count, to: progress)
                }
                operation.finish(with: pages, to: done)
            } catch { operation.finish(throwing: error, to: failed) }
        }
        return operation
    }
}

@MainActor
final class Reader: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var pages: [String] = []
    private(set) var count = 0
    private(set) var message = ""

    func open(_ paths: [String], with session: Session) {
        _ = session.pages(
            paths, in: deallocBag, progress: Callback(for: self) { reader, count in reader.count = count },
            done: Callback(for: self) { reader, pages in reader.pages = pages },
            failed: Callback(for: self) { reader, error in reader.message = "\(error)" })
    }
}

final class Sizes: Sendable {
    private let session: Session
    private let coalescer = RequestCoalescer<String, Int>()

    init(_ session: Session) { self.session = session }

    /// The size of what is at a URL: one request, however many ask meanwhile.
    func size(of url: String, in bag: DeallocBag, _ done: Callback<Result<Int, any Error>>) {
        coalescer.join(url, of: session, in: bag, to: done) { [session] work in
            try await work.value(of: session.get(url)).count
        }
    }
}

func show(_ path: String, of session: Session, in bag: DeallocBag, _ draw: @escaping @Sendable (Data) async -> Void) {
    session.get(path)
        .onBody { _, body in
            var picture = Data()
            for try await piece in body {
                picture.append(piece)
                await draw(picture)
            }
        }
        .onSuccess { picture in Task { await draw(picture) } }
        .start(in: bag)
}

/// Halves the limit of a host that asks for less, and raises it by one for each of its responses that is none of an error.
struct AdaptiveLimit: Interceptor {
    let session: Session
    let host: String

    func intercept(
        _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
    ) async throws -> InterceptedResponse {
        let response = try await next(request)
        guard request.url.hasPrefix(host) else { return response }
        let limit = try session.concurrencyLimits.limit(for: host) ?? 6
        switch response.head.status {
        case 429, 503: try session.concurrencyLimits.set(limit / 2, for: host)
        case ..<400: try session.concurrencyLimits.set(min(limit + 1, 64), for: host)
        default: break
        }
        return response
    }
}

/// Asks a server of lines of text, one after the other.
func ask(_ questions: [String], at url: String, with session: Session, in bag: DeallocBag) async throws -> String {
    let channel = try await DuplexChannel.open(url, with: session, in: bag)
    for question in questions { try await channel.send(Data((question + "\r\n").utf8)) }
    var answers = Data()
    for try await piece in channel.bytes { answers += piece }
    return String(decoding: answers, as: UTF8.self)
}
