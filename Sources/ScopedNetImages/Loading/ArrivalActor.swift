/// The place where files are looked at while they arrive: not the session's delivery queue, which may be the main one, busy or drawing. A file that is
/// refused is refused before the rest of it comes.
@globalActor
actor ArrivalActor {
    static let shared = ArrivalActor()
}
