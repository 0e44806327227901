// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// The sanitizer runs of `Scripts/test` build the library and its race tests only: SwiftNIO and BoringSSL stay out of them.
let leanBuild = Context.environment["SCOPEDNET_LEAN"] == "1"

// Only where the trait is on: a store does without it.
let crypto: [Target.Dependency] =
    leanBuild ? [] : [.product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"]))]
let serviceLifecycle: Target.Dependency = .product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"]))
let unixSignals: Target.Dependency = .product(
    name: "UnixSignals", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"]))

var products: [Product] = [
    .library(name: "ScopedNet", targets: ["ScopedNet"]),
    .library(name: "ScopedNetFoundation", targets: ["ScopedNetFoundation"]),
    .library(name: "ScopedNetTesting", targets: ["ScopedNetTesting"]),
    .library(name: "Reachability", targets: ["Reachability"]),
    .library(name: "Persistence", targets: ["Persistence"]),
]

var dependencies: [Package.Dependency] = [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
]

var targets: [Target] = [
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CTLS", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CEpoll"),
    .systemLibrary(name: "CHeap"),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .target(
        name: "ScopedNet",
        dependencies: [
            "CCurl",
            "CEpoll",
            "CTLS",
            "CZlib",
            "Persistence",
            "Reachability",
            .target(name: "CBrotli", condition: .when(traits: ["Brotli"])),
            .target(name: "CZstd", condition: .when(traits: ["Zstd"])),
            .product(name: "HTTPTypes", package: "swift-http-types"),
            .product(name: "Logging", package: "swift-log"),
        ],
        swiftSettings: settings
    ),
    .target(name: "ScopedNetFoundation", dependencies: ["ScopedNet", "Reachability"], swiftSettings: settings),
    .target(
        name: "ScopedNetTesting",
        dependencies: ["ScopedNet", "Reachability", "CHeap", .product(name: "HTTPTypes", package: "swift-http-types")],
        swiftSettings: settings
    ),
    // What each suite ends with; for test targets alone.
    .target(
        name: "CleanSlate", dependencies: ["Persistence", "ScopedNet", "ScopedNetTesting"], path: "Tests/CleanSlate",
        swiftSettings: settings),
    .testTarget(name: "ScopedNetTestingTests", dependencies: ["CleanSlate", "ScopedNet", "ScopedNetTesting"], swiftSettings: settings),
    .systemLibrary(name: "CStore"),
    .target(
        name: "Persistence",
        dependencies: [
            "CStore",
            .product(name: "GRDB", package: "GRDB.swift"),
            .product(name: "GRDBSQLite", package: "GRDB.swift"),
        ] + crypto,
        swiftSettings: settings
    ),
    // What the tests kill, starve and run side by side.
    .executableTarget(name: "StoreCrasher", dependencies: ["Persistence"], path: "Tests/StoreCrasher", swiftSettings: settings),
    .testTarget(
        name: "PersistenceTests",
        dependencies: ["CleanSlate", "Persistence", "StoreCrasher", .product(name: "GRDB", package: "GRDB.swift")],
        swiftSettings: settings
    ),
    .systemLibrary(name: "CNetlink"),
    .target(name: "Reachability", dependencies: ["CNetlink"], swiftSettings: settings),
    .systemLibrary(name: "CSandbox", path: "Tests/CSandbox"),
    .testTarget(
        name: "ReachabilityTests", dependencies: ["CleanSlate", "Reachability", "ScopedNet", "CNetlink", "CSandbox"],
        swiftSettings: settings),
    .testTarget(name: "ThreadSafetyTests", dependencies: ["CleanSlate", "ScopedNet"], swiftSettings: settings),
]

if !leanBuild {
    products += [
        .library(name: "ScopedNetTestServer", targets: ["ScopedNetTestServer"]),
        .library(name: "ScopedNetService", targets: ["ScopedNetService"]),
        .executable(name: "scopednet", targets: ["ScopedNetTool"]),
    ]
    dependencies += [
        .package(url: "https://github.com/apple/swift-nio", from: "2.86.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.36.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.0.0"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.0.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ]
    targets += [
        .target(
            name: "ScopedNetTestServer",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ],
            swiftSettings: settings
        ),
        // Without a server: pure types, and the engine over the mock transport. `Shared` is also part of ScopedNetWireTests, by a symbolic link.
        .testTarget(
            name: "ScopedNetTests",
            dependencies: ["CleanSlate", "ScopedNet", "ScopedNetFoundation", "ScopedNetTesting", "Reachability", "Persistence"],
            swiftSettings: settings
        ),
        // The library against scripted servers.
        .testTarget(
            name: "ScopedNetWireTests",
            dependencies: [
                "CleanSlate", "ScopedNet", "ScopedNetFoundation", "ScopedNetTesting", "ScopedNetTestServer", "ScopedNetService",
                "Reachability",
                "Persistence", "ConformanceClient", "TestProcesses", serviceLifecycle, unixSignals,
            ],
            swiftSettings: settings
        ),
        // One request over a store that others have left.
        .executableTarget(
            name: "ConformanceClient",
            dependencies: ["ScopedNet", "Persistence", .product(name: "HTTPTypes", package: "swift-http-types")],
            path: "Tests/ConformanceClient", swiftSettings: settings),
        // ScopedNet, the curl tool and URLSession with the same exchanges; URLSession is no dependency of anything else.
        .executableTarget(
            name: "Differential",
            dependencies: [
                "ScopedNet", "ScopedNetTestServer", "TestProcesses", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/Differential", swiftSettings: settings),
        .testTarget(
            name: "ScopedNetTestServerTests",
            dependencies: ["CleanSlate", "ScopedNetTestServer", .product(name: "NIOCore", package: "swift-nio")],
            swiftSettings: settings
        ),
        .target(name: "CFaults", dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")], path: "Tests/CFaults"),
        .testTarget(
            name: "FaultInjectionTests",
            dependencies: [
                "CFaults", "CleanSlate", "Persistence", "ScopedNet", "ScopedNetTestServer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        // Servers nobody here wrote, as `Scripts/with-servers` starts them; without them its suites are skipped.
        .testTarget(
            name: "IntegrationTests",
            dependencies: ["CleanSlate", "ScopedNet", "ScopedNetFoundation", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Demo",
            dependencies: [
                "ScopedNet", "ScopedNetFoundation", "ScopedNetTestServer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Demo",
            exclude: ["Assets", "Daemon", "README.md"],
            swiftSettings: settings
        ),
        // A dependency that only one product has hangs on a trait, so that who does without the product need not even fetch it.
        .target(
            name: "ScopedNetService",
            dependencies: ["ScopedNet", "Reachability", serviceLifecycle, .product(name: "Logging", package: "swift-log")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ScopedNetServiceTests",
            dependencies: [
                "CleanSlate", "ScopedNetService", "ScopedNet", "ScopedNetTesting", "ScopedNetTestServer", "Reachability", "DemoDaemon",
                "ForkProbe",
                "TestProcesses", serviceLifecycle, unixSignals, .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "DemoDaemon",
            dependencies: [
                "ScopedNetService", "ScopedNet", "Reachability", serviceLifecycle, unixSignals,
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Demo/Daemon",
            exclude: ["README.md", "demo-daemon.service"],
            swiftSettings: settings
        ),
        .target(name: "TestProcesses", dependencies: ["CNetlink"], path: "Tests/TestProcesses", swiftSettings: settings),
        // What becomes of a session and a monitor on the other side of fork(2): no test process may do that to itself.
        .executableTarget(
            name: "ForkProbe", dependencies: ["ScopedNet", "Reachability"], path: "Tests/ForkProbe", swiftSettings: settings),
        // Programs in trouble: full and frozen disks, a dead resolver, a stepped clock, no descriptors.
        .target(name: "CHostile", path: "Tests/CHostile"),
        .executableTarget(
            name: "HostileProbe",
            dependencies: ["CHostile", "CleanSlate", "Persistence", "ScopedNet", "TestProcesses"],
            path: "Tests/HostileProbe", swiftSettings: settings),
        .testTarget(
            name: "HostileTests",
            dependencies: ["CleanSlate", "HostileProbe", "ScopedNet", "ScopedNetTestServer", "TestProcesses"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ScopedNetTool",
            dependencies: [
                "ScopedNet", "Persistence", "Reachability",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(
                    name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["CommandLineTool"])),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ScopedNetToolTests",
            dependencies: ["CleanSlate", "ScopedNetTool", "ScopedNet", "Persistence", "ScopedNetTestServer", "TestProcesses"],
            swiftSettings: settings
        ),
    ]
}

if leanBuild {
    targets += [
        .target(
            name: "FuzzTargets",
            dependencies: [
                "CCurl", "CNetlink", "Reachability", "ScopedNet", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Fuzz",
            exclude: ["CFuzzer", "Corpus", "Main"],
            swiftSettings: settings
        ),
        .testTarget(name: "FuzzTests", dependencies: ["CleanSlate", "FuzzTargets"], swiftSettings: settings),
    ]
}

// `Scripts/fuzz` builds this with libFuzzer, whose `main` no other build has.
if Context.environment["SCOPEDNET_FUZZ"] == "1" {
    targets += [
        .systemLibrary(name: "CFuzzer", path: "Fuzz/CFuzzer"),
        .executableTarget(name: "Fuzz", dependencies: ["CFuzzer", "FuzzTargets"], path: "Fuzz/Main", swiftSettings: settings),
    ]
}

let package = Package(
    name: "ScopedNet",
    products: products,
    traits: [
        .trait(name: "Brotli", description: "Decode `Content-Encoding: br` (needs libbrotli-dev)."),
        .trait(name: "Zstd", description: "Decode `Content-Encoding: zstd` (needs libzstd-dev)."),
        .trait(name: "ServiceLifecycle", description: "The services of ScopedNetService (needs swift-service-lifecycle)."),
        .trait(name: "Encryption", description: "Seal stores and caches on disk: AESGCMSealing in Persistence (needs swift-crypto)."),
        .trait(name: "CommandLineTool", description: "The scopednet command (needs swift-argument-parser)."),
        .default(enabledTraits: ["Brotli", "Zstd", "ServiceLifecycle", "CommandLineTool"]),
    ],
    dependencies: dependencies,
    targets: targets
)
