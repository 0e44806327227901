/// The order in which those who wait for one of a few permits get it. New cases may be added; keep a default when you switch.
public enum ImageOrder: Sendable, Hashable {
    /// Those who came first: for a page that is read from its top.
    case firstInFirstOut
    /// Those who came last: for a list that is scrolled, whose newest rows are the ones on the screen.
    case lastInFirstOut
}
