import ScopedNet

/// One assignment of the notification protocol of systemd (pure; sd_notify(3)).
public struct SystemdMessage: Sendable, Hashable, CustomStringConvertible {
    /// `NAME=value`, without a line end.
    public let description: String

    private init(_ name: StaticString, _ value: String) { description = "\(name)=\(value)" }

    /// Start-up is finished. What waits for this unit (`Type=notify`) goes on.
    public static let ready = SystemdMessage("READY", "1")

    /// Shutting down has begun.
    public static let stopping = SystemdMessage("STOPPING", "1")

    /// Still alive, for units with `WatchdogSec=`; to be sent about twice in that time.
    public static let watchdog = SystemdMessage("WATCHDOG", "1")

    /// One line for people, as `systemctl status` shows it. Line ends and other control characters are written as `\xA`, as they would begin
    /// another assignment; what goes beyond 2,048 characters is cut off.
    public static func status(_ text: String) -> SystemdMessage { SystemdMessage("STATUS", String(text.printable.prefix(2_048))) }
}
