import Testing

@testable import Reachability

extension NetlinkKernel {
    /// The time to open a socket of one's own and to read interfaces and addresses: what a monitor's times are measured by.
    static func timeOfALook() throws -> Duration {
        let began = ContinuousClock.now
        let kernel = try NetlinkKernel(classifier: InterfaceClassifier(usesSysfs: false))
        #expect(try kernel.load())
        return ContinuousClock.now - began
    }
}
