// Plants mistakes in Swift files, all in one copy, each behind a number that is read when the program starts: one build serves every mutant.
//
//   planter NUMBERS-TO-LEAVE-OUT FROM TO [FROM TO...]
//
// Prints a line for each mutant, tab separated: number, file, line, what was done, and the line of source. Built by Scripts/mutation with the
// toolchain's own SwiftSyntax; no target of the package.
import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

struct Mutation {
    let number: Int
    let range: Range<Int>
    let text: String
    let what: String
}

/// A piece of source that can be there in several versions: a statement, a condition, an initial value.
final class Anchor {
    enum Form { case statement, condition, value, bound }
    let range: Range<Int>
    let form: Form
    var mutations: [Mutation] = []
    init(_ range: Range<Int>, _ form: Form) {
        self.range = range
        self.form = form
    }
}

final class Planter: SyntaxAnyVisitor {
    static let operators: [String: String] = [
        "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*",
        "%": "*", "&+": "&-", "&-": "&+", "&*": "&+", "<<": ">>", ">>": "<<", "|": "&", "&": "|", "..<": "...", "...": "..<", "+=": "-=",
        "-=": "+=", "*=": "+=", "??": "",
    ]

    private(set) var anchors: [Anchor] = []
    private var stack: [Anchor] = []
    private var next: Int
    private let leftOut: Set<Int>
    private let source: [UInt8]
    private let file: String
    private(set) var lines: [String] = []

    init(_ text: String, file: String, next: Int, leftOut: Set<Int>) {
        source = Array(text.utf8)
        self.file = file
        self.next = next
        self.leftOut = leftOut
        super.init(viewMode: .sourceAccurate)
    }

    var nextNumber: Int { next }

    private func range(_ node: some SyntaxProtocol) -> Range<Int> {
        node.positionAfterSkippingLeadingTrivia.utf8Offset..<node.endPositionBeforeTrailingTrivia.utf8Offset
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: source[range], as: UTF8.self) }

    private func add(_ range: Range<Int>, _ text: String, _ what: String) {
        guard let anchor = stack.last, anchor.range.lowerBound <= range.lowerBound, range.upperBound <= anchor.range.upperBound else {
            return
        }
        let number = next
        next += 1
        guard !leftOut.contains(number) else { return }
        anchor.mutations.append(Mutation(number: number, range: range, text: text, what: what))
        let line = source[..<range.lowerBound].count { $0 == 10 } + 1
        let start = source[..<range.lowerBound].lastIndex(of: 10).map { $0 + 1 } ?? 0
        let end = source[range.lowerBound...].firstIndex(of: 10) ?? source.count
        let code = self.text(start..<end).trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "\t", with: " ")
        lines.append("\(number)\t\(file)\t\(line)\t\(what)\t\(code)")
    }

    // MARK: Walking

    private static func form(of node: Syntax) -> Anchor.Form? {
        if let item = node.as(CodeBlockItemSyntax.self) {
            switch item.item {
            case .expr(let expression): return expression.is(IfExprSyntax.self) || expression.is(SwitchExprSyntax.self) ? nil : .statement
            case .stmt(let statement): return statement.is(ReturnStmtSyntax.self) || statement.is(ThrowStmtSyntax.self) ? .statement : nil
            default: return nil
            }
        }
        if node.is(ExprSyntax.self), let parent = node.parent {
            if let element = parent.as(ConditionElementSyntax.self), element.condition.id == node.id { return .condition }
            if parent.is(WhereClauseSyntax.self) { return .condition }
            if let clause = parent.as(InitializerClauseSyntax.self), clause.value.id == node.id, let owner = clause.parent {
                if owner.is(PatternBindingSyntax.self) { return .value }
                if owner.is(OptionalBindingConditionSyntax.self) { return .bound }
            }
        }
        return nil
    }

    private static func isInInitializer(_ node: Syntax) -> Bool {
        var parent = node.parent
        while let current = parent, !current.is(ClosureExprSyntax.self), !current.is(FunctionDeclSyntax.self) {
            if current.is(InitializerDeclSyntax.self) { return true }
            parent = current.parent
        }
        return false
    }

    private static func isBarred(_ node: Syntax) -> Bool {
        node.is(SwitchCaseItemSyntax.self) || node.is(AttributeSyntax.self) || node.is(FunctionParameterSyntax.self)
            || node.is(EnumCaseElementSyntax.self) || node.is(TypeSyntax.self) || node.is(IfConfigDeclSyntax.self)
    }

    private var stringDepth = 0

    override func visitAny(_ node: Syntax) -> SyntaxVisitorContinueKind {
        if Self.isBarred(node) { return .skipChildren }
        if node.is(StringLiteralExprSyntax.self) { stringDepth += 1 }
        if stringDepth == 0, let form = Self.form(of: node) {
            let anchor = Anchor(range(node), form)
            anchors.append(anchor)
            stack.append(anchor)
        }
        mutate(node)
        return .visitChildren
    }

    override func visitAnyPost(_ node: Syntax) {
        if Self.isBarred(node) { return }
        if stringDepth == 0, Self.form(of: node) != nil { stack.removeLast() }
        if node.is(StringLiteralExprSyntax.self) { stringDepth -= 1 }
    }

    private func mutate(_ node: Syntax) {
        if let item = node.as(CodeBlockItemSyntax.self), case .expr(let expression) = item.item, Self.form(of: node) == .statement {
            let isCall = expression.is(FunctionCallExprSyntax.self)
            let isAssignment =
                expression.as(InfixOperatorExprSyntax.self).map {
                    $0.operator.is(AssignmentExprSyntax.self)
                        || $0.operator.trimmedDescription.hasSuffix("=")
                            && !["==", "<=", ">=", "!="].contains($0.operator.trimmedDescription)
                } ?? false
            // An initializer has to set what it sets.
            if isCall || isAssignment, !Self.isInInitializer(node) { add(range(node), "()", "statement removed") }
        }
        if let infix = node.as(InfixOperatorExprSyntax.self), let token = infix.operator.as(BinaryOperatorExprSyntax.self)?.operator,
            let other = Self.operators[token.text], !other.isEmpty
        {
            add(range(token), other, "\(token.text) became \(other)")
        }
        if let prefix = node.as(PrefixOperatorExprSyntax.self), prefix.operator.text == "!" {
            add(range(prefix.operator), "", "! removed")
        }
        // `while true` is no decision, and what stands behind it would have to return something.
        if let literal = node.as(BooleanLiteralExprSyntax.self), node.parent?.is(ConditionElementSyntax.self) != true {
            add(range(literal), literal.literal.text == "true" ? "false" : "true", "\(literal.literal.text) flipped")
        }
        if let literal = node.as(IntegerLiteralExprSyntax.self) {
            add(range(literal), "(\(literal.literal.text) + 1)", "\(literal.literal.text) became one more")
        }
        if let element = node.parent?.as(ConditionElementSyntax.self), element.condition.id == node.id, node.is(ExprSyntax.self),
            !node.is(PrefixOperatorExprSyntax.self), !node.is(BooleanLiteralExprSyntax.self)
        {
            add(range(node), "!(\(text(range(node))))", "condition negated")
        }
        if let ternary = node.as(TernaryExprSyntax.self) {
            add(range(ternary.condition), "!(\(text(range(ternary.condition))))", "condition negated")
        }
    }

    // MARK: Writing

    func planted() -> String { render(0..<source.count, anchors.filter { !$0.mutations.isEmpty }) }

    private func render(_ range: Range<Int>, _ inside: [Anchor]) -> String {
        var result = ""
        var place = range.lowerBound
        for anchor in inside where anchor.range.lowerBound >= place && anchor.range.upperBound <= range.upperBound {
            result += text(place..<anchor.range.lowerBound) + render(anchor, inside)
            place = anchor.range.upperBound
        }
        return result + text(place..<range.upperBound)
    }

    private func render(_ anchor: Anchor, _ all: [Anchor]) -> String {
        let inner = all.filter { other in
            other !== anchor && anchor.range.lowerBound <= other.range.lowerBound && other.range.upperBound <= anchor.range.upperBound
        }
        let needsReturn = anchor.form == .condition || anchor.form == .bound
        let open = anchor.form == .condition ? "planted({ () -> Bool in " : anchor.form == .bound ? "planted({ " : ""
        let result = needsReturn ? "return " : ""
        var text = "\(open)switch plantedMutant { // [\(anchor.mutations.map { "\($0.number)" }.joined(separator: ","))\n"
        for mutation in anchor.mutations {
            let before = self.text(anchor.range.lowerBound..<mutation.range.lowerBound)
            let after = self.text(mutation.range.upperBound..<anchor.range.upperBound)
            text += "case \(mutation.number): // <\(mutation.number)\n\(result)\(before)\(mutation.text)\(after)\n// \(mutation.number)>\n"
        }
        text += "default:\n\(result)\(render(anchor.range, inner))\n} // ]\(needsReturn ? "\n})" : "\n")"
        return text
    }
}

let arguments = Array(CommandLine.arguments.dropFirst())
let leftOut = Set((arguments.first ?? "").split(separator: ",").compactMap { Int($0) })
var number = 1
for index in stride(from: 1, to: arguments.count - 1, by: 2) {
    let text = try String(contentsOfFile: arguments[index], encoding: .utf8)
    let tree = OperatorTable.standardOperators.foldAll(Parser.parse(source: text)) { _ in }
    let planter = Planter(text, file: arguments[index], next: number, leftOut: leftOut)
    planter.walk(tree)
    number = planter.nextNumber
    try planter.planted().write(toFile: arguments[index + 1], atomically: true, encoding: .utf8)
    for line in planter.lines { print(line) }
}
