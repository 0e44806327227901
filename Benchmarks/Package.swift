// swift-tools-version: 6.2
import PackageDescription

// The clients that `Scripts/bench` compares. A package of its own, so that async-http-client never becomes a dependency of
// the library's users. Every client is a process of its own: what one links or leaks is not charged to another. The programs in
// C/ are compiled by the script, because a C target of a package would load, and pay for, the Swift runtime.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "ScopedNet", path: ".."),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.86.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    ],
    targets: [
        // One way of measuring, for the clients in C and in Swift alike.
        .target(name: "CMeasure"),
        .target(name: "BenchKit", dependencies: ["CMeasure"], swiftSettings: settings),

        .executableTarget(
            name: "bench-ahc",
            dependencies: [
                "BenchKit",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "bench-urlsession", dependencies: ["BenchKit"], swiftSettings: settings),

        .target(
            name: "ScopedNetBench",
            dependencies: ["BenchKit", "CMeasure", .product(name: "ScopedNet", package: "ScopedNet")],
            swiftSettings: settings
        ),
        .executableTarget(name: "bench-scopednet", dependencies: ["ScopedNetBench"], swiftSettings: settings),
        .executableTarget(
            name: "bench-endpoints",
            dependencies: [
                "BenchKit", .product(name: "ScopedNet", package: "ScopedNet"), .product(name: "ScopedNetEndpoints", package: "ScopedNet"),
            ],
            swiftSettings: settings),
        // The same with the Swift runtime inside: what is compiled for the dynamic one does not name these archives itself.
        .executableTarget(
            name: "bench-scopednet-static",
            dependencies: ["ScopedNetBench"],
            swiftSettings: settings,
            linkerSettings: [
                .unsafeFlags(["-static-stdlib"]),
                .linkedLibrary("CoreFoundation"),
                .linkedLibrary("_FoundationICU"),
                .linkedLibrary("_FoundationCollections"),
                .linkedLibrary("_FoundationCShims"),
                .linkedLibrary("swiftSynchronization"),
            ]
        ),
    ]
)
