import Glibc

extension ImageLoader {
    /// The bounds and the parts of a loader.
    public struct Configuration: Sendable {
        /// The fate of a transfer when the last of those who wanted its picture has gone.
        public enum LastCancel: Sendable, Hashable {
            /// It is stopped. The default.
            case stop
            /// It goes on into the response cache where at least `fraction` of it, from 0 to 1, has come.
            case finish(atLeast: Double)
        }

        /// The pictures in memory. Loaders may share one.
        public var memory = ImageMemoryCache()
        /// The decoders, by format; of several for one format the last one counts.
        public var decoders: [any ImageDecoding] = .standard
        /// The most that a picture may ask of the machine.
        public var limits = ImageLimits.standard
        /// Transfers at a time. Default: 4.
        public var transfersAtOnce = 4
        /// Pictures that are decoded at a time. Default: one less than there are cores, and at least one.
        public var decodesAtOnce = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) - 1)
        /// The order among those that wait with equal priority. Default: first in, first out.
        public var order = ImageOrder.firstInFirstOut
        /// The fate of a transfer that nobody waits for any more. Default: it is stopped.
        public var onLastCancel = LastCancel.stop
        /// Transfers that broke off are continued where the server can (RFC 9110 section 14), from up to 32 MiB in memory. Default: true.
        public var resumes = true
        /// For how long a picture that the server does not have (404, 410) is not asked for again; nil, the default, asks each time.
        public var missingAge: Duration?
        /// Progressive pictures are shown while they arrive, where a load has a closure for it. Default: true.
        public var makesPreviews = true
        /// The least time between two previews. Default: half a second.
        public var previewInterval = Duration.milliseconds(500)
        /// Writes pictures as they were made, sizes and processors and all, to the response cache, behind their loads: the thumbnail of a large picture
        /// is read from there as long as the file is fresh. Nil, the default, keeps files alone. `PNGEncoder` loses nothing; `JPEGEncoder` and
        /// `WebPEncoder` make smaller files, and JPEG has no alpha. A picture in the size of its file has no result, nor has one of a request with fields of
        /// its own.
        public var resultEncoder: (any ImageEncoding)?
        /// The memory is emptied when the machine is short of it (`$MEMORY_PRESSURE_WATCH`, PSI). Default: true.
        public var relievesMemory = true

        /// Makes the default configuration.
        public init() {}
    }

    /// The work of a loader at one moment.
    public struct Activity: Sendable, Hashable {
        /// Transfers that run.
        public let transfers: Int
        /// Transfers that wait for one of ``Configuration/transfersAtOnce``.
        public let waitingTransfers: Int
        /// Pictures that are being decoded.
        public let decodings: Int
        /// Pictures that wait for one of ``Configuration/decodesAtOnce``.
        public let waitingDecodings: Int
    }
}
