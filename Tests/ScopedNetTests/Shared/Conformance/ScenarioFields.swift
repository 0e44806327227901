import HTTPTypes
import ScopedNet

/// Field lines of a script, written as a dictionary whose names may repeat.
///
/// A number is a date, that many seconds after the origin's clock: `["Expires": 3600, "Date": 0, "Age": "30"]`.
struct ScenarioFields: Sendable, ExpressibleByDictionaryLiteral {
    enum Value: Sendable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
        case text(String)
        /// An IMF-fixdate, seconds from the origin's clock.
        case date(Int)
        /// A date in the form of RFC 850, seconds from the origin's clock.
        case obsoleteDate(Int)
        /// The scenario's path, followed by this.
        case path(String)

        init(stringLiteral text: String) { self = .text(text) }
        init(integerLiteral seconds: Int) { self = .date(seconds) }
    }

    struct Line: Sendable {
        var name: String
        var value: Value
    }

    var lines: [Line] = []

    init(dictionaryLiteral elements: (String, Value)...) {
        lines = elements.map { Line(name: $0.0, value: $0.1) }
    }

    static func + (left: ScenarioFields, right: ScenarioFields) -> ScenarioFields {
        var sum = left
        sum.lines += right.lines
        return sum
    }

    /// The fields as they are sent: `now` is the origin's clock, seconds since 1970, and `path` the scenario's path.
    func resolved(now: Int64, path: String) -> HTTPFields {
        var fields = HTTPFields()
        for line in lines {
            guard let name = HTTPField.Name(line.name) else { continue }
            fields.append(HTTPField(name: name, value: line.value.text(now: now, path: path)))
        }
        return fields
    }

    /// The names, each once, in the order of their first lines.
    var names: [String] {
        var names: [String] = []
        for line in lines where !names.contains(line.name) { names.append(line.name) }
        return names
    }
}

extension ScenarioFields.Value {
    fileprivate func text(now: Int64, path: String) -> String {
        switch self {
        case .text(let text): text
        case .date(let seconds): HTTPDate(secondsSince1970: now + Int64(seconds)).description
        case .obsoleteDate(let seconds): Self.obsolete(HTTPDate(secondsSince1970: now + Int64(seconds)))
        case .path(let suffix): path + suffix
        }
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT` out of `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func obsolete(_ date: HTTPDate) -> String {
        let parts = date.description.split(separator: " ").map(String.init)
        let weekdays = ["Sun": "Sunday", "Mon": "Monday", "Tue": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Fri": "Friday"]
        let weekday = weekdays[String(parts[0].prefix(3))] ?? "Saturday"
        return "\(weekday), \(parts[1])-\(parts[2])-\(parts[3].suffix(2)) \(parts[4]) GMT"
    }
}
