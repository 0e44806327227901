import CleanSlate
import Dispatch
import ScopedNetTesting
import Testing

@testable @_spi(Transport) import ScopedNet

/// The state of a request between its starts.
@Suite(.leavesNothing) struct RequestStateTests {
    private final class Listener: RequestDelegate {}

    private func description(_ url: String) -> RequestDescription {
        RequestDescription(
            url: url, method: .get, headers: [:], body: nil, options: OptionsBox(RequestOptions()), destination: nil)
    }

    private func template(_ url: String) -> RequestTemplate {
        RequestTemplate(
            url: .placeholder(url), method: .get, fields: [:], headers: .empty, body: nil, options: RequestOptions(),
            transferOptions: TransferOptions(), destination: nil, errorBodyBytes: 0)
    }

    private func callback() -> CallbackHandler<EndReason> { CallbackHandler(lane: nil, origin: CodeOrigin(#fileID, #line)) { _ in } }

    @Test func armedClosuresGoToOneStart() {
        var state = RequestState(description: description("http://a.test/"))
        state.armed.end.append(callback())
        let first = state.takeHandlers()
        #expect(!first.end.isEmpty)
        let second = state.takeHandlers()
        #expect(second.end.isEmpty && second.delegate == nil)
    }

    @Test func theDelegateStaysForLaterStarts() {
        let listener = Listener()
        var state = RequestState(description: description("http://a.test/"))
        state.delegate = DelegateReference(listener, isolation: nil)
        for _ in 0..<2 {
            let handlers = state.takeHandlers()
            #expect(handlers.delegate != nil)
        }
    }

    @Test func aTemplateIsKeptForTheDescriptionItWasMadeOf() {
        let first = description("http://a.test/")
        var state = RequestState(description: first)
        state.keep(template("http://a.test/"), of: first)
        #expect(state.template != nil)
        // Changed while the template was made.
        var second = description("http://b.test/")
        state.replaceDescription(by: &second)
        #expect(second.isSame(as: first) && state.template == nil && state.description.url == "http://b.test/")
        state.keep(template("http://a.test/"), of: first)
        #expect(state.template == nil)
    }

    @Test func allHandlesShareOneToken() {
        var state = RequestState(description: description("http://a.test/"))
        let (first, second) = (HandleToken(), HandleToken())
        #expect(state.token(orElse: first) === first)
        #expect(state.token(orElse: second) === first)
    }

    @Test func closuresOfAStartComeBehindTheArmedOnes() {
        let lanes = [DeliveryLane(queue: DispatchQueue(label: "armed")), DeliveryLane(queue: DispatchQueue(label: "start"))]
        func handlers(_ lane: DeliveryLane) -> RunHandlers {
            var handlers = RunHandlers()
            handlers.end.append(CallbackHandler(lane: lane, origin: CodeOrigin(#fileID, #line)) { _ in })
            handlers.received.append(CallbackHandler(lane: lane, origin: CodeOrigin(#fileID, #line)) { _ in })
            return handlers
        }
        var armed = handlers(lanes[0])
        armed.merge(handlers(lanes[1]))
        for (number, lane) in lanes.enumerated() { #expect(armed.end[number]?.lane === lane && armed.received[number]?.lane === lane) }
        #expect(armed.end[2] == nil && armed.success.isEmpty)
    }
}
