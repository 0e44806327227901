import Foundation

/// Plants mistakes in the text of the shipping machines, all in one copy, each behind a number: `mutated(7, was == .open)`. One compilation
/// then serves every mutant.
struct MachineMutants {
    struct Mutant {
        let number: Int
        let file: String
        let line: Int
        /// What it does instead.
        let text: String
    }

    private(set) var all: [Mutant] = []

    /// What the planted text calls.
    static let prelude = """
        nonisolated(unsafe) var activeMutant = 0
        nonisolated(unsafe) var reachedMutants = [Bool](repeating: false, count: 1024)
        nonisolated(unsafe) var isRecording = false

        /// Whether a mutant is switched on here and now; without one, notes that this place was reached.
        @inline(__always)
        func mutated(_ number: Int, _ condition: Bool) -> Bool {
            if isRecording, condition { reachedMutants[number] = true }
            return condition && number == activeMutant
        }
        """

    /// The actions an event may answer with.
    private static let answers: [String: [String]] = [
        "StartAction": ["proceed", "refuse"],
        "CancelAction": ["tearDown", "leaveToCaller", "tooLate", "stopWork", "alreadyEnded"],
        "Admission": ["admitted", "refused"],
        "CallEndAction": ["goOn", "tearDown"],
        "SuspensionAction": ["changed", "unchanged"],
        "EndLeadingAction": ["tellOthers", "nothing"],
        "DepartureAction": ["wait", "retire"],
        "RetireAction": ["leave", "alreadyLeft"],
        "ConfirmAction": ["keep", "unlink"],
        "CloseAction": ["unlink", "leaveToInserter", "nothing"],
        "Bool": ["true", "false"],
    ]

    private var file = ""
    private var line = 0
    private var function = ""
    private var answer = ""
    private var patterns: [String] = []
    private var hasWas = false

    /// The text of one shipping file with its mutants in it.
    mutating func plant(in text: String, file: String) -> String {
        self.file = file
        (function, answer, patterns, hasWas) = ("", "", [], false)
        var lines: [String] = []
        for (index, original) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            line = index + 1
            lines.append(contentsOf: mutate(String(original)))
        }
        return lines.joined(separator: "\n")
    }

    private mutating func mutate(_ original: String) -> [String] {
        let code = original.trimmingCharacters(in: .whitespaces)
        guard !code.hasPrefix("//") else { return [original] }
        switch file {
        case "RunStage.swift": return [packing(original)]
        case "RunMachine.swift": return [transition(original)]
        case "ResponseVerdict.swift": return [precedence(original)]
        default: break
        }
        if let match = original.firstMatch(of: /func (\w+)\(.*\)(?: -> (\w+))? \{$/) {
            function = String(match.1)
            answer = match.2.map(String.init) ?? ""
            patterns = []
            hasWas = true
            return [original, file == "BagLink.swift" ? "let was = self" : "let was = phase", "_ = was"]
        }
        if original.contains(/^ {4}package var (isOver|isMuted|isEnding|mayGoOn)/) {
            function = String(original.firstMatch(of: /var (\w+)/)!.1)
            answer = "Bool"
            hasWas = false
            patterns = []
        } else if original.contains(/^ {4}package (init|var)/) {
            function = ""
        }
        guard !function.isEmpty else { return [original] }
        var text = original
        var prefix = ""
        // `case .a, .b: rest`
        if let match = text.firstMatch(of: /^(\s*case (\.\w+(?:, \.\w+)*):)(.*)$/) {
            patterns = match.2.split(separator: ", ").map(String.init)
            prefix = String(match.1)
            text = String(match.3)
        }
        return [prefix + statements(text)]
    }

    /// `RunStage`: a stage packed as another, or unpacked as none.
    private mutating func packing(_ text: String) -> String {
        if let match = text.firstMatch(of: /^(\s*case \.(\w+)(?:\(let number\))?: )(number << 3 \| )?(\d)$/) {
            let shift = match.3.map(String.init) ?? ""
            let number = add("word, \(match.2) is packed as another")
            return "\(match.1)mutated(\(number), true) ? \(shift)\(match.4 == "5" ? "4" : "5") : \(shift)\(match.4)"
        }
        if let match = text.firstMatch(of: /^(\s*case \d: self = )(\.(\w+).*)$/) {
            return "\(match.1)mutated(\(add("init, \(match.3) is unpacked as idle")), true) ? .idle : \(match.2)"
        }
        return text
    }

    /// The step that comes next in the plain order, where a mutant is to leave one out.
    private static let following = [
        ".claimTarget": ".authorize", ".authorize": ".consultCache(elsewhere: false)", ".condition": ".awaitPath",
        ".awaitPath": ".interceptExchange", ".interceptExchange": ".awaitRate", ".leaveExchange": ".updateCache",
        ".awaitRate": ".awaitSlot", ".awaitSlot": ".transfer", ".park": ".transfer", ".transfer": ".awaitDisposition",
        ".awaitDisposition": ".finishPart", ".finishPart": ".leaveExchange", ".updateCache": ".judge(after: nil)",
        ".backOff": ".interceptExchange",
        ".serve": ".judge(after: nil)", ".storeRefused": ".fail", ".placeFile": ".makeValue", ".makeValue": ".deliver",
        ".copyToCache": ".deliver", ".fail": ".deliver", ".judge(after: nil)": ".makeValue",
    ]

    /// `RunMachine`: an event is dropped, the work is said to be over, a step is left out.
    private mutating func transition(_ text: String) -> String {
        if let match = text.firstMatch(of: /^(\s*case (\(?\..*?)(?:\))?: )(\.\w+(?:\(\w+: \w+\))?)$/) {
            let (event, step) = (String(match.2), String(match.3))
            var expression = "mutated(\(add("\(event): dropped, not \(step)")), true) ? nil : \(step)"
            if step != ".deliver" { expression = "mutated(\(add("\(event): deliver, not \(step)")), true) ? .deliver : \(expression)" }
            if let next = Self.following[step], next != ".deliver" {
                expression = "mutated(\(add("\(event): \(next), without \(step)")), true) ? \(next) : \(expression)"
            }
            return "\(match.1)\(expression)"
        }
        if text.contains("verdict.comes(after: declined) ? ") {
            return text.replacing(
                ".judge(after: verdict)",
                with: "mutated(\(add("declined: the first verdict again")), true) ? .judge(after: nil) : .judge(after: verdict)")
        }
        if text.contains("if case .failed = event {") {
            return text.replacing(
                "step == .fail || step == .deliver",
                with:
                    "(step == .fail || step == .deliver) && !mutated(\(add("failed twice")), true) || mutated(\(add("failed: dropped")), step != .fail && step != .deliver)"
            )
        }
        return text
    }

    /// `ResponseVerdict`: two steps swapped, one left out, one that always or never applies.
    private mutating func precedence(_ text: String) -> String {
        let order = ["challenge", "redirect", "retry", "storedResponse", "interception", "failure", "status", "contentType", "acceptance"]
        if text.contains("private var following: Self {") {
            var swaps = ""
            for index in order.indices.dropLast() {
                let (first, second) = (order[index], order[index + 1])
                let number = add("\(second) before \(first)")
                let before = index == 0 ? "nil" : ".\(order[index - 1])"
                let behind = index + 2 < order.count ? ".\(order[index + 2])" : ".acceptance"
                swaps += "if mutated(\(number), true) { if Optional(self) == \(before) { return .\(second) }; "
                swaps += "if self == .\(second) { return .\(first) }; if self == .\(first) { return \(behind) } }\n"
            }
            for index in 1..<order.count - 1 {
                swaps += "if mutated(\(add("without \(order[index])")), self == .\(order[index - 1])) { return .\(order[index + 1]) }\n"
            }
            return text.replacing("private var following: Self { ", with: "private var following: Self {\n\(swaps)return ")
        }
        if text.contains("?? .challenge") {
            let number = add("redirect is the first")
            return text.replacing("?? .challenge", with: "?? (mutated(\(number), true) ? .redirect : .challenge)")
        }
        // Acceptance always applies, and would never end if it did not.
        if let match = text.firstMatch(of: /^(\s*case (\.\w+(?:, \.\w+)*): )([^.].*)$/), match.2 != ".acceptance" {
            let (never, always) = (add("\(match.2): never applies"), add("\(match.2): always applies"))
            return "\(match.1)!mutated(\(never), true) && (mutated(\(always), true) || (\(match.3)))"
        }
        return text
    }

    private mutating func statements(_ text: String) -> String {
        var text = text
        let conditions = patterns.isEmpty ? ["true"] : patterns.map { (hasWas ? "was" : "phase") + " == " + $0 }
        // A next phase.
        text = text.replacing(/(phase|self) = (\.\w+)/) { match in
            var expression = String(match.2)
            for condition in conditions {
                let stays = hasWas ? "was" : String(match.2)
                expression = "mutated(\(add("\(condition): the word stays")), \(condition)) ? \(stays) : \(expression)"
                let wrong = wrongNext(String(match.2))
                expression = "mutated(\(add("\(condition): next is \(wrong), not \(match.2)")), \(condition)) ? \(wrong) : \(expression)"
            }
            return "\(match.1) = \(expression)"
        }
        // An answer.
        text = text.replacing(/return (\.?)(\w+)/) { match in
            guard let all = Self.answers[answer], all.contains(String(match.2)) else { return String(match.0) }
            var expression = "\(match.1)\(match.2)"
            for condition in conditions {
                for other in all where other != match.2 {
                    let number = add("\(condition): answers \(other), not \(match.2)")
                    expression = "mutated(\(number), \(condition)) ? \(match.1)\(other) : \(expression)"
                }
            }
            return "return \(expression)"
        }
        // Reason, goesOn, and what is computed from them.
        if text.contains("self.reason = reason") {
            text = text.replacing("self.reason = reason", with: "if !mutated(\(add("the reason is lost")), true) { self.reason = reason }")
        }
        text = text.replacing(/^(\s*)(is(?:Suspended|Leading|Silent|WorkOver|Counted|Retired) = (?:true|false|value))$/) { match in
            "\(match.1)if !mutated(\(add("not \(match.2)")), true) { \(match.2) }"
        }
        text = text.replacing(/goesOn = (goesOn && keepsWork|keepsWork|false)/) { match in
            var expression = String(match.1)
            for condition in conditions {
                expression = "mutated(\(add("\(condition): goesOn is the opposite")), \(condition)) ? !(\(match.1)) : (\(expression))"
            }
            return "goesOn = \(expression)"
        }
        if text.contains("guard goesOn, !keepsWork else") {
            let (first, second) = (add("goesOn is not asked"), add("keepsWork is not asked"))
            text = text.replacing(
                "guard goesOn, !keepsWork else",
                with: "guard goesOn || mutated(\(first), true), !keepsWork || mutated(\(second), true) else")
        }
        if text.contains("guard self == .none else") {
            text = text.replacing(
                "guard self == .none else", with: "guard self == .none || mutated(\(add("announces whatever it is")), true) else")
        }
        if text.contains("if phase == .ending {") {
            text = text.replacing("if phase == .ending {", with: "if phase == .ending || mutated(\(add("ends whatever it is")), true) {")
        }
        return function.hasPrefix("is") || function == "mayGoOn" ? computed(text, conditions) : text
    }

    /// `isOver`, `isMuted`, `mayGoOn`.
    private mutating func computed(_ text: String, _ conditions: [String]) -> String {
        if let match = text.firstMatch(of: /^ (true|false|goesOn)$/) {
            var expression = String(match.1)
            for condition in conditions {
                expression = "mutated(\(add("\(condition): the opposite")), \(condition)) ? !\(match.1) : (\(expression))"
            }
            return " " + expression
        }
        guard let match = text.firstMatch(of: /^(.*Bool \{ )(phase == \.\w+) (\|\||&&) (.*?)( \})$/) else { return text }
        let neutral = match.3 == "||" ? "false" : "true"
        let (first, second) = (add("without \(match.2)"), add("without \(match.4)"))
        return
            "\(match.1)(mutated(\(first), true) ? \(neutral) : \(match.2)) \(match.3) (mutated(\(second), true) ? \(neutral) : (\(match.4)))\(match.5)"
    }

    private func wrongNext(_ next: String) -> String {
        if file == "BagLink.swift" { return next == ".closed" ? ".none" : ".closed" }
        return next == ".ended" ? ".open" : next == ".cancelled" ? ".ended" : next == ".cancelRequested" ? ".open" : ".cancelled"
    }

    private mutating func add(_ text: String) -> Int {
        let number = all.count + 1
        all.append(Mutant(number: number, file: file, line: line, text: function.isEmpty ? text : "\(function), \(text)"))
        return number
    }
}
