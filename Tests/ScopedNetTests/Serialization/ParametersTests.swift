import CleanSlate
import FoundationEssentials
import ScopedNet
import Testing

/// Parameters made of `Encodable` values: REQ-11, REQ-15, and defect 11.
@Suite(.leavesNothing) struct ParametersTests {
    private struct Search: Encodable {
        enum Order: String, Encodable { case newest }
        struct Range: Encodable { let low: Double; let high: Double? }
        var text = "a b"
        var page = 2
        var isDraft = false
        var order = Order.newest
        var tags = ["x", "y"]
        var price = Range(low: 3, high: nil)
        var missing: Int?
        var ratio: Float = 0.1
        var big = UInt64.max
        var site = URL(string: "http://h/p?q")
    }

    @Test func aStructIsItsMembers() throws {
        let parameters = try Parameters(Search())
        #expect(
            parameters.values == [
                "text": "a b", "page": 2, "isDraft": false, "order": "newest", "tags": ["x", "y"], "price": ["low": 3.0], "ratio": 0.1,
                "big": "18446744073709551615", "site": "http://h/p?q",
            ])
        let query = try QuerySerializer.standard.string(from: parameters)
        #expect(
            query == "big=18446744073709551615&isDraft=0&order=newest&page=2&price%5Blow%5D=3&ratio=0.1&site=http%3A//h/p?q"
                .replacing("/p?q", with: "/p?q") + "&tags%5B%5D=x&tags%5B%5D=y&text=a%20b")
    }

    @Test func anExplicitNullIsOne() throws {
        struct Value: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encodeNil(forKey: .a)
                try container.encode([1, nil, 2], forKey: .b)
            }
            enum Key: CodingKey { case a, b }
        }
        let parameters = try Parameters(Value())
        #expect(parameters.values == ["a": nil, "b": [1, nil, 2]])
    }

    @Test func nestedContainersAndSuperclassesAreWritten() throws {
        class Base: Encodable { let a = 1 }
        class Derived: Base {
            override func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try super.encode(to: container.superEncoder())
                var inner = container.nestedContainer(keyedBy: Key.self, forKey: .inner)
                var list = inner.nestedUnkeyedContainer(forKey: .list)
                try list.encode("x")
                var member = list.nestedContainer(keyedBy: Key.self)
                try member.encode(true, forKey: .list)
                var deep = list.nestedUnkeyedContainer()
                try deep.encode(UInt8(7))
                try deep.encodeNil()
                #expect(list.count == 3 && deep.count == 2)
            }
            enum Key: CodingKey { case inner, list }
        }
        let parameters = try Parameters(Derived())
        #expect(parameters.values == ["super": ["a": 1], "inner": ["list": ["x", ["list": true], [7, nil]]]])
    }

    @Test func numbersOfEveryWidthAreWritten() throws {
        struct Numbers: Encodable {
            var a = Int8.min, b = Int16.min, c = Int32.min, d = Int64.min, e = Int128.max, f = UInt.max, g = UInt16.max, h = UInt32.max
            var i = UInt128.max, j = 1.5, k = Decimal(string: "0.10"), l = UInt8.max
            var m = [Int128.min], n = [UInt128(1)]
        }
        let parameters = try Parameters(Numbers())
        #expect(
            parameters.values == [
                "a": -128, "b": -32_768, "c": -2_147_483_648, "d": .integer(.min), "e": "170141183460469231731687303715884105727",
                "f": "18446744073709551615", "g": 65_535, "h": 4_294_967_295, "i": "340282366920938463463374607431768211455", "j": 1.5,
                "k": "0.1", "l": 255, "m": ["-170141183460469231731687303715884105728"], "n": [1],
            ])
    }

    @Test func aValueOfOneScalarIsThatScalar() throws {
        struct Wrapped: Encodable {
            let value: String?
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                if let value { try container.encode(value) } else { try container.encodeNil() }
            }
        }
        struct Silent: Encodable { func encode(to encoder: any Encoder) throws {} }
        let wrapped = try Parameters(["a": Wrapped(value: "x"), "b": Wrapped(value: nil)])
        let silent = try Parameters(["a": Silent()])
        #expect(wrapped.values == ["a": "x", "b": nil] && silent.values == ["a": [:]])
    }

    @Test func superclassesHaveAKeyOfTheirOwnChoice() throws {
        struct Value: Encodable {
            enum Key: CodingKey { case base, list }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try ["x": 1].encode(to: container.superEncoder(forKey: .base))
                var list = container.nestedUnkeyedContainer(forKey: .list)
                try ["y": 2].encode(to: list.superEncoder())
                try list.encode(Int128(3))
                try list.encode(UInt128(4))
            }
        }
        let parameters = try Parameters(Value())
        #expect(parameters.values == ["base": ["x": 1], "list": [["y": 2], 3, 4]])
    }

    @Test func dictionariesAndBytesAreWritten() throws {
        let numbers = try Parameters([1: "a", 2: "b"])
        #expect(numbers.values == ["1": "a", "2": "b"])
        let bytes = try Parameters(["a": Data([1, 2])])
        #expect(bytes.values == ["a": .data(Data([1, 2]))])
    }

    // REQ-15: dates have a strategy.
    @Test func datesHaveAStrategy() throws {
        let value = ["when": Date(timeIntervalSince1970: 1_000_000_000.5)]
        let error = #expect(throws: NetworkError.self) { try Parameters(value, dates: .refused) }
        #expect(error?.code == .invalidParameters)
        #expect(error?.message.contains("when: say how dates are to be written") == true)
        let text = try Parameters(value)
        #expect(text.values == ["when": "2001-09-09T01:46:40Z"])
        let seconds = try Parameters(value, dates: .secondsSince1970)
        #expect(seconds.values == ["when": 1_000_000_000.5])
        let milliseconds = try Parameters(value, dates: .millisecondsSince1970)
        #expect(milliseconds.values == ["when": 1_000_000_000_500])
        let own = try Parameters(value, dates: .custom { _ in "now" })
        #expect(own.values == ["when": "now"])
    }

    // Defect 11: a string alone became `=value`, an array `(null)[]`.
    @Test func whatHasNoNamesIsRefused() {
        let values: [any Encodable] = [["a", "b"], "text", 7, true, Data([1]), Int?.none]
        for value in values {
            let error = #expect(throws: NetworkError.self) { try Parameters(value) }
            #expect(error?.code == .invalidParameters, "\(value)")
        }
    }

    // REQ-20
    @Test func whatAnEncoderThrowsIsKept() {
        struct Mine: Error {}
        struct Value: Encodable { func encode(to encoder: any Encoder) throws { throw Mine() } }
        let error = #expect(throws: NetworkError.self) { try Parameters(["a": Value()]) }
        #expect(error?.code == .invalidParameters && error?.underlying is Mine)
    }

    @Test func aTypeThatNestsWithoutEndIsRefused() {
        struct Endless: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(Endless())
            }
        }
        let error = #expect(throws: NetworkError.self) { try Parameters(["a": Endless()]) }
        #expect(error?.code == .invalidParameters)
    }

    @Test func namesCanBeSetAndTakenOut() {
        var parameters: Parameters = ["a": 1]
        parameters["b"] = "x"
        parameters["a"] = nil
        #expect(parameters.values == ["b": "x"] && !parameters.isEmpty && parameters["c"] == nil)
    }
}
