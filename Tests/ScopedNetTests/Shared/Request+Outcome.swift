import Foundation
import Testing

@testable import ScopedNet

extension Request {
    /// Sends, and expects to fail.
    func failure(_ location: SourceLocation = #_sourceLocation) async throws -> NetworkError {
        let outcome = await outcome()
        switch outcome {
        case .success(let response):
            Issue.record("expected an error, got \(response.head) and \(response.body.count) bytes", sourceLocation: location)
            throw UnexpectedSuccess()
        case .failure(let error): return error
        }
    }

    func outcome() async -> Result<Response<Value>, NetworkError> {
        do throws(NetworkError) { return .success(try await response()) } catch { return .failure(error) }
    }
}

struct UnexpectedSuccess: Error {}
