import HTTPTypes

/// What the fields of a stored response say, read once: a fresh hit then costs no parsing.
struct StoredFacts: Equatable {
    let control: CacheControl
    let validators: Validators
    /// When the server made it: `Date`, or when it came.
    let date: WallTime
    /// `Age`, or zero.
    let ageWhenReceived: Double
    let lifetime: Lifetime
    /// A tenth of the time since it was last changed, where that may be used and nothing better is said.
    let heuristicLifetime: Double?

    /// Whether the response says for how long it is good.
    var hasExplicitLifetime: Bool { lifetime.source != .none }

    /// What the response itself says.
    struct Lifetime: Equatable {
        let source: Freshness.Source
        let seconds: Double
    }

    init(_ head: CacheHead, responseTime: WallTime) {
        self.init(head, CacheControl(head.fields), responseTime: responseTime)
    }

    /// Reads the fields; `control` has the directives of `head`.
    init(_ head: CacheHead, _ control: CacheControl, responseTime: WallTime) {
        let date = head.date(now: responseTime) ?? responseTime
        self.init(
            status: head.status, control, Validators(head, date: date, now: responseTime), date: date,
            age: AgeField.parse(head.fields) ?? 0, ExpiresField(head.fields, now: responseTime))
    }

    init(status: Int, _ control: CacheControl, _ validators: Validators, date: WallTime, age: Double, _ expires: ExpiresField) {
        self.control = control
        self.validators = validators
        self.date = date
        ageWhenReceived = age
        lifetime = Self.lifetime(control, expires, date: date)
        let mayGuess = Freshness.heuristicStatuses.contains(status) || control.isPublic
        if lifetime.source == .none, mayGuess, let modified = validators.lastModifiedTime {
            heuristicLifetime = min(max(0, date - modified) / 10, 86_400)
        } else {
            heuristicLifetime = nil
        }
    }

    /// RFC 9111 section 4.2.1, for a private cache: `s-maxage` is for others.
    private static func lifetime(_ control: CacheControl, _ expires: ExpiresField, date: WallTime) -> Lifetime {
        if let maxAge = control.maxAge { return Lifetime(source: .maxAge, seconds: maxAge) }
        switch expires {
        case .at(let time): return Lifetime(source: .expires, seconds: max(0, time - date))
        case .invalid: return Lifetime(source: .expires, seconds: 0)
        case .absent: return Lifetime(source: .none, seconds: 0)
        }
    }
}
