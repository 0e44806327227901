package import FoundationEssentials

extension Parameters {
    /// How parameters become the pairs of a query, a form or a multipart form. (pure)
    ///
    /// The defaults are those of AFNetworking, which most servers that read nested names understand: an object in an object is `outer[inner]`, an
    /// array `name[]` for each element, a set `name` for each element; members of objects and elements of sets come in ascending order, those of
    /// arrays in their own; nesting joins these, as in `list[][name]`.
    ///
    /// Scalars: true and false are `1` and `0`, a double without a fraction has no point, null is the name without `=`, an empty string the name
    /// with it. Empty arrays, sets and objects leave nothing behind.
    public struct Style: Sendable, Hashable {
        /// The names of an array's elements.
        public enum Arrays: Sendable, Hashable {
            /// `name[]=a&name[]=b`.
            case brackets
            /// `name=a&name=b`. Arrays in arrays are then told apart by nothing.
            case repeated
        }

        /// The words for truth values.
        public enum Booleans: Sendable, Hashable {
            /// `1` and `0`.
            case numbers
            /// `true` and `false`.
            case words
        }

        /// Default: brackets.
        public var arrays = Arrays.brackets
        /// Default: numbers.
        public var booleans = Booleans.numbers
        /// Whether an empty array is `name[]=`, or `name=` with ``Arrays/repeated``. Default: false, it leaves nothing.
        public var writesEmptyArrays = false

        /// Makes the style of AFNetworking.
        public init() {}

        /// Deeper than any server reads, and far from the end of a stack.
        static let maxDepth = 512

        package struct Pair: Sendable, Hashable {
            package enum Content: Sendable, Hashable {
                /// A null: the name alone.
                case none
                case text(String)
                case bytes(Data)
            }

            /// Not escaped.
            package var name: String
            package var content: Content
        }

        /// - Throws: `invalidParameters` for a number that is not finite and for nesting beyond 512 levels.
        package func pairs(of parameters: Parameters) throws(NetworkError) -> [Pair] {
            try parameters.check()
            var pairs: [Pair] = []
            for name in parameters.values.keys.sorted() {
                guard let value = parameters.values[name] else { continue }
                try append(value, named: name, depth: 1, to: &pairs)
            }
            return pairs
        }

        private func append(_ value: ParameterValue, named name: String, depth: Int, to pairs: inout [Pair]) throws(NetworkError) {
            guard depth <= Self.maxDepth else {
                throw .invalidParameters("the parameters are nested more than \(Self.maxDepth) levels deep")
            }
            switch value {
            case .null: pairs.append(Pair(name: name, content: .none))
            case .data(let data): pairs.append(Pair(name: name, content: .bytes(data)))
            case .bool, .integer, .double, .string: pairs.append(Pair(name: name, content: .text(try text(of: value, named: name))))
            case .array(let elements):
                let inner = arrays == .brackets ? name + "[]" : name
                if elements.isEmpty, writesEmptyArrays { pairs.append(Pair(name: inner, content: .text(""))) }
                for element in elements { try append(element, named: inner, depth: depth + 1, to: &pairs) }
            case .set(let elements):
                for group in try sorted(elements, named: name, depth: depth) { pairs += group }
            case .object(let members):
                for key in members.keys.sorted() {
                    guard let member = members[key] else { continue }
                    try append(member, named: "\(name)[\(key)]", depth: depth + 1, to: &pairs)
                }
            }
        }

        /// The pairs of each element of a set, ascending by what they will look like.
        private func sorted(_ elements: Set<ParameterValue>, named name: String, depth: Int) throws(NetworkError) -> [[Pair]] {
            var groups: [(key: String, pairs: [Pair])] = []
            for element in elements {
                var pairs: [Pair] = []
                try append(element, named: name, depth: depth + 1, to: &pairs)
                let isScalar = pairs.count == 1 && pairs[0].name == name
                groups.append((pairs.map { isScalar ? $0.sortedText : $0.name + "=" + $0.sortedText }.joined(separator: "&"), pairs))
            }
            return groups.sorted { $0.key < $1.key }.map(\.pairs)
        }

        private func text(of scalar: ParameterValue, named name: String) throws(NetworkError) -> String {
            switch scalar {
            case .bool(let value): booleans == .words ? "\(value)" : value ? "1" : "0"
            case .integer(let value): "\(value)"
            case .string(let value): value
            case .double(let value):
                if !value.isFinite {
                    throw .invalidParameters("the parameter '\(name)' is a number that is not finite")
                } else if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 {
                    "\(whole)"
                } else {
                    "\(value)"
                }
            case .null, .data, .array, .set, .object: ""
            }
        }
    }
}

extension Parameters.Style.Pair {
    fileprivate var sortedText: String {
        switch content {
        case .none: ""
        case .text(let text): text
        case .bytes(let data): PercentEncoding.escaped(data)
        }
    }
}
