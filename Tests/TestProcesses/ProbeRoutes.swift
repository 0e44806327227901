/// What the probe and the server that it asks have to agree on.
package enum ProbeRoutes {
    /// The size of `/drip`, which comes in small pieces over some seconds.
    package static let dripBytes = 140 << 14
}
