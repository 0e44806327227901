package import HTTPTypes

/// What became of a redirect that the program changed.
package enum RedirectReview: Sendable, Hashable {
    /// To be followed, with these fields.
    case accept(HTTPFields)
    case refuse(RedirectPolicy.Reason)
}

extension RedirectPolicy {
    /// Applies the rules once more, to a redirect that this policy follows and the program has changed.
    ///
    /// Credentials that the program has set itself may go to another origin: it says so by setting them. Those that were there before it
    /// was asked stay behind.
    ///
    /// - Parameters:
    ///   - context: with the program's URL as the location.
    ///   - method: the program's.
    ///   - fields: those the program wants sent.
    ///   - proposed: those it was shown.
    /// - Returns: the fields to send, or the reason to follow no further.
    package func review(_ context: RedirectPolicy.Context, method: HTTPRequest.Method, fields: HTTPFields, proposed: HTTPFields)
        -> RedirectReview
    {
        guard let last = context.visits.last, let location = context.location, let target = URLOrigin(location),
            target.scheme == "http" || target.scheme == "https"
        else { return .refuse(.unsupportedTarget) }
        let origin = URLOrigin(last.url)
        let isSameOrigin = origin == target
        if mode == .sameOriginOnly && !isSameOrigin { return .refuse(.otherOrigin) }
        if origin?.scheme != "http" && target.scheme == "http" && !allowsDowngrade { return .refuse(.downgrade) }
        if !context.setsCookie, Self.wasVisited(method, location, context.visits) { return .refuse(.loop) }
        guard !isSameOrigin else { return .accept(fields) }
        var accepted = fields
        for name in sensitiveNames.compactMap({ HTTPField.Name($0) }) where fields[values: name] == proposed[values: name] {
            accepted[name] = nil
        }
        return .accept(accepted)
    }
}
