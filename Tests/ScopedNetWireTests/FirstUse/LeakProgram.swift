import CleanSlate
import Foundation
import ScopedNet
import ScopedNetTesting
import Testing

/// Leak tests of the reader of stories, without a network, written by a newcomer from the documents alone.
@MainActor @Suite(.leavesNothing, .noLeaks) struct LeakProgram {
    private let silent = MockTransport.session("http://example.test/v1/", unanswered: .wait)

    /// A session that fails what no route answers, with the names of the routes.
    private func answeringSession() -> Session {
        MockTransport.session("http://example.test/v1/") { $0.json = JSONCoding(keys: .snakeCase, dates: .iso8601) }
    }

    @Test func theListGoesWithItsRequest() async {
        await expectDeallocates {
            StoriesProgram.ListModel(session: silent)
        } after: {
            $0.load()
        }
        await expectScopeCancels {
            StoriesProgram.ListModel(session: silent)
        } after: { model in
            model.load()
            model.submit("Sea", key: "1")
        }
    }

    @Test func thePageGoesWithItsSteps() async {
        await expectDeallocates {
            StoriesProgram.PageModel(session: silent)
        } after: {
            $0.open(7)
        }
        await expectScopeCancels {
            StoriesProgram.PageModel(session: silent)
        } after: {
            $0.open(7)
        }
    }

    @Test func theSearchGoesWhileItIsTyped() async {
        await expectDeallocates {
            StoriesProgram.SearchModel(session: silent)
        } after: { model in
            for text in ["s", "se", "sea"] { model.type(text) }
        }
    }

    @Test func theEditionGoesWhileItIsLoaded() async {
        let file = FileManager.default.temporaryDirectory.appending(path: "scopednet-edition-\(UUID().uuidString)")
        let edition = URL(string: "http://example.test/edition")!
        await expectDeallocates {
            StoriesProgram.EditionModel(edition, to: file, session: silent)
        } after: {
            $0.goOn()
        }
    }

    @Test func theAnswersAreShown() async {
        let session = answeringSession()
        session.mock.on(.get, "stories/7", .json(#"{"id": 7, "title": "Sea", "posted_at": "2026-05-01T10:00:00Z", "comment_ids": [1, 2]}"#))
        session.mock.on(.get, "stories/7/author", .ok("Ann"))
        for id in 1...2 { session.mock.on(.get, "comments/\(id)", .json(["text": "Salty"])) }
        let model = StoriesProgram.PageModel(session: session)
        model.open(7)
        await model.deallocBag.waitUntilIdle()
        #expect(model.story?.title == "Sea" && model.comments.count == 2 && model.author == "Ann")
    }

    @Test func anUnknownRequestIsAMessage() async {
        let session = answeringSession()
        session.mock.on(.get, "stories", .status(404))
        let model = StoriesProgram.ListModel(session: session)
        model.load()
        await model.deallocBag.waitUntilIdle()
        #expect(model.message?.isEmpty == false && !model.isLoading)
    }
}
