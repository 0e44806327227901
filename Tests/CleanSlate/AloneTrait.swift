internal import Foundation
public import Testing

/// The company of a test in its process: a suite may do alone what others would suffer from. `Scripts/test` gives such suites processes of their own.
public enum Company {
    private static func isSet(_ variable: String) -> Bool { ProcessInfo.processInfo.environment[variable] == "1" }

    /// With `SCOPEDNET_ALONE=1` the caller has chosen suites that can do without others.
    public static let isAlone = isSet("SCOPEDNET_ALONE")

    /// With `SCOPEDNET_ALL=1`, tests run that wait for servers, with clocks of their own.
    public static let hasServers = isSet("SCOPEDNET_ALL")

    /// The reason for leaving a suite out.
    public static let reason: Comment = "it must run alone: Scripts/test, or SCOPEDNET_ALONE=1 and --filter"
}

extension Trait where Self == ConditionTrait {
    /// A suite that looks at the whole process, or takes both cores while its own clocks run.
    public static var alone: Self { .enabled(if: Company.isAlone, Company.reason) }

    /// A suite that keeps a core busy for long: tests that wait for a server would starve beside it.
    public static var aloneBesideServers: Self { .enabled(if: Company.isAlone || !Company.hasServers, Company.reason) }
}
