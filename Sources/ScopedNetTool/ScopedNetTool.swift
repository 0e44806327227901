#if CommandLineTool
import ArgumentParser

/// `scopednet`: the command.
struct ScopedNetTool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scopednet",
        abstract: "HTTP requests, the way to the network, and response caches, from the command line.",
        discussion: """
            EXIT STATUS
              0        all is well
              1        path: there is no way there; cache show: nothing is stored for the URL
              3, 6, 7  the URL is none; its host has no address; nobody could be reached
              22       the server answered 400 or above
              23       the file or standard output could not be written
              28       a time limit has passed
              35, 60   TLS failed; the certificate is not to be trusted
              47, 56   too many redirects; the connection was lost
              64       wrong usage
              63, 65   image: it is larger than allowed; it is no picture that can be decoded
              65 66 75 cache: it is damaged; there is none; another process has it
              130      ended by Ctrl-C (128 + the number of the signal)
            All of them: docs/tool.md of ScopedNet.
            """,
        version: "scopednet 0.1",
        subcommands: [
            GetCommand.self, PostCommand.self, PutCommand.self, PatchCommand.self, DeleteCommand.self, HeadCommand.self, UploadCommand.self,
            DownloadCommand.self, ImageCommand.self, PathCommand.self, WatchCommand.self, CacheCommand.self,
        ])
}
#endif
