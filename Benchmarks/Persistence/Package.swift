// swift-tools-version: 6.2
import PackageDescription

// What the store costs beside a bare loop on SQLite in C, and what a cache costs and saves a request. A package of its own, so that nobody
// who uses the library builds it.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "StoreBenchmarks",
    dependencies: [.package(name: "ScopedNet", path: "../..")],
    targets: [
        .target(name: "CBareStore", cSettings: [.unsafeFlags(["-O2"])], linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "store-bench", dependencies: ["CBareStore", .product(name: "Persistence", package: "ScopedNet")],
            swiftSettings: settings),
        .target(name: "CLoopServer", cSettings: [.unsafeFlags(["-O2"])]),
        .executableTarget(
            name: "cache-bench",
            dependencies: [
                "CLoopServer", .product(name: "ScopedNet", package: "ScopedNet"), .product(name: "Persistence", package: "ScopedNet"),
            ],
            swiftSettings: settings),
    ]
)
