import CCurl
import CleanSlate
import HTTPTypes
import Testing

@testable @_spi(Transport) import ScopedNet

/// The options that are set on a handle, and those that a transfer changes.
@Suite(.leavesNothing) struct OptionStateTests {
    @Test func theFirstFailureCounts() {
        var state = OptionState()
        state.isDirty = false
        for code in [CURLE_OK, CURLE_UNKNOWN_OPTION, CURLE_NOT_BUILT_IN] { state.note(code) }
        #expect(state.takeFailure() == nil)
        #expect(!state.isDirty)
        state.note(CURLE_OUT_OF_MEMORY)
        state.note(CURLE_BAD_FUNCTION_ARGUMENT)
        #expect(state.takeFailure() == CURLE_OUT_OF_MEMORY)
        // The handle is not what the transfer asks for.
        #expect(state.isDirty)
        #expect(state.takeFailure() == nil)
    }

    @Test func whatIsSetIsNotSetAgain() {
        var state = OptionState()
        #expect(state.changesBuffer(to: OptionState.usualBufferBytes) == false)
        #expect(state.changesBuffer(to: 1 << 20) == true)
        #expect(state.changesBuffer(to: 1 << 20) == false)
        #expect(state.changesConnectClock(to: 500) == true)
        #expect(state.changesConnectClock(to: 500) == false)
        state.wasReset()
        #expect(state.changesBuffer(to: OptionState.usualBufferBytes) == false)
        #expect(state.changesConnectClock(to: 500) == true)
    }

    @Test func theVersionIsChangedWhereItDiffers() {
        var state = OptionState()
        state.isDirty = false
        #expect(state.change(to: .automatic, scheme: "http") == .none)
        #expect(state.change(to: .automatic, scheme: "https") == .waitForMultiplex)
        #expect(state.change(to: .http2, scheme: "http") == .none)
        #expect(state.change(to: .automatic, scheme: "http") == .stopWaiting)
        #expect(state.change(to: .http2, scheme: "http") == .waitForMultiplex)
        #expect(!state.isDirty)
        state.wasReset()
        #expect(state.change(to: .automatic, scheme: "http") == .none)
    }

    @Test func aVersionOfItsOwnIsTakenBackByAReset() {
        for (version, change) in [
            (RequestOptions.HTTPVersionPolicy.http1, OptionState.VersionChange.http1), (.http2PriorKnowledge, .http2PriorKnowledge),
        ] {
            var state = OptionState()
            state.isDirty = false
            #expect(state.change(to: version, scheme: "https") == change)
            #expect(state.isDirty)
        }
    }
}

/// The decisions about the options of one transfer.
@Suite(.leavesNothing) struct TransferSetupTests {
    private func target(
        _ url: String, isForwarded: Bool = false, version: RequestOptions.HTTPVersionPolicy = .automatic, keeps: Bool = false
    ) throws -> String? {
        TransferSetup.target(of: try RequestURL(url), isForwarded: isForwarded, version: version, keepsEmptyQueries: keeps)
    }

    @Test func anEmptyQueryIsSent() throws {
        #expect(try target("http://a.test/a?") == "/a?")
        #expect(try target("http://a.test/a") == nil && target("http://a.test/a?b") == nil)
        // libcurl does it itself.
        #expect(try target("http://a.test/a?", keeps: true) == nil)
    }

    @Test func aProxyGetsTheWholeURL() throws {
        #expect(try target("http://a.test:81/a?", isForwarded: true, keeps: true) == "http://a.test:81/a?")
        #expect(try target("http://a.test/a?", isForwarded: true, version: .http2PriorKnowledge) == nil)
        #expect(try target("http://a.test/a", isForwarded: true) == nil)
    }

    @Test func connectionsAreSharedByVersion() throws {
        func transfer(_ url: String, _ version: RequestOptions.HTTPVersionPolicy) throws -> TransferRequest {
            ExchangeBuilder.connect(to: try RequestURL(url), TransferOptions(httpVersion: version), deadline: nil)
        }
        #expect(try !transfer("https://a.test/", .http1).mayShareConnection(version: "2"))
        #expect(try transfer("https://a.test/", .automatic).mayShareConnection(version: nil))
        #expect(try transfer("https://a.test/", .http2).mayShareConnection(version: "2"))
        #expect(try !transfer("https://a.test/", .automatic).mayShareConnection(version: "1.1"))
        #expect(try !transfer("http://a.test/", .automatic).mayShareConnection(version: nil))
        #expect(try transfer("https://a.test/", .http2PriorKnowledge).mayShareConnection(version: nil))
    }
}
