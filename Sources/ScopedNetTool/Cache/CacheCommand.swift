#if CommandLineTool
import ArgumentParser

struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache", abstract: "Look at, check and clear the response caches of programs.",
        discussion: """
            A cache is named as its program names it, and found in $XDG_CACHE_HOME, else in ~/.cache; a name with a slash is the path of its \
            folder. All but 'clear' only look: they may run beside the program, and see what it has written to disk, a second old at most.

              scopednet cache stats
              scopednet cache list com.example.reader
              scopednet cache show com.example.reader https://example.org/feed
            """,
        subcommands: [
            CacheListCommand.self, CacheShowCommand.self, CacheStatsCommand.self, CacheClearCommand.self, CacheVerifyCommand.self,
        ])
}
#endif
