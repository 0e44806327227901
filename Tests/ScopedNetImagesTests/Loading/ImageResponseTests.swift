import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import Testing

@testable import ScopedNetImages

/// A picture as the value of a request, beside JSON and text. RES-9.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageResponseTests {
    private func session(_ data: Data, type: String) -> Session {
        let session = MockTransport.session("http://images.test/")
        session.mock.on("a", ImageLoading.reply(data, [.contentType: type]))
        return session
    }

    @Test(arguments: [
        "image/tiff", "image/gif", "image/ico", "image/x-icon", "image/bmp", "image/x-bmp", "image/x-xbitmap", "image/x-win-bitmap",
    ])
    func theBytesDecideAboutTheFormat(type: String) async throws {
        let session = session(ImageLoading.bitmap(8, 4), type: type)
        let image = try await session.request("a", decoder: .image).value()
        #expect(image.width == 8 && image.height == 4 && image.scale == 1)
        await session.shutdown()
    }

    @Test func anotherTypeIsRefused() async throws {
        let session = session(ImageLoading.bitmap(), type: "text/html")
        await #expect {
            _ = try await session.request("a", decoder: .image).value()
        } throws: { ($0 as? NetworkError)?.code == .unacceptableContentType }
        await session.shutdown()
    }

    @Test func itIsMadeForItsScreen() async throws {
        let session = session(ImageLoading.bitmap(64, 32), type: "image/bmp")
        let image = try await session.request("a", decoder: .image(size: PixelSize(16, 16), scale: 2)).value()
        #expect(image.width == 16 && image.height == 8 && image.scale == 2)
        await session.shutdown()
    }

    /// AFNetworking's serializer made nil of no bytes, without an error.
    @Test func noBytesAreNoPicture() async throws {
        for data in [Data(), ImageLoading.bitmap().prefix(70)] {
            let session = session(data, type: "image/bmp")
            await #expect {
                _ = try await session.request("a", decoder: .image).value()
            } throws: { error in
                let error = error as? NetworkError
                return error?.code == .decodingFailed && error?.underlying is ImageError
            }
            await session.shutdown()
        }
    }
}
