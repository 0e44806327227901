import Foundation
import Glibc
import ScopedNet

/// A download that goes on where an earlier process was killed, and may be killed itself at any moment.
enum ResumedDownload {
    static func run(url: String, file: String) async {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.options.downloads.resumes = true
        let session = Session(configuration: configuration)
        let request = session.download(url, to: URL(fileURLWithPath: file)).onDownloadProgress { progress in
            say("at \(progress.completed)")
        }
        do {
            say("resumed \(try await request.response().resumedBytes)")
        } catch {
            say("failed \(error)")
            exit(1)
        }
    }

    /// At once, as this may be its last word.
    private static func say(_ line: String) {
        let text = line + "\n"
        _ = text.withCString { write(1, $0, strlen($0)) }
    }
}
