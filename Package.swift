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

// What is built besides the products, by variables of the environment, as only who works on the library wants it: a package that depends on this
// one, and a plain `swift test` here, fetch swift-http-types, swift-log and GRDB alone.
//
//   SCOPEDNET_ALL=1    every test target but those of toolkits, the demos and the tools of the project; their traits are on by default
//   SCOPEDNET_DEMO=1   the demo, with the plain half of its server
//   SCOPEDNET_TESTS=A  of the test targets A alone, or several with commas between
//   SCOPEDNET_LEAN=1   the library and its race tests, for `Scripts/test` under sanitizers, and the fuzzers
//   SCOPEDNET_VIEWS=1  the tests of the toolkits, for `Scripts/test-views`, with the traits GLib, GTK and WebKit; GTK for those without WebKit
func isSet(_ variable: String) -> Bool { Context.environment[variable] == "1" }
let leanBuild = isSet("SCOPEDNET_LEAN")
let buildsAll = isSet("SCOPEDNET_ALL") && !leanBuild
let buildsWebKit = isSet("SCOPEDNET_VIEWS") && !leanBuild
let buildsViews = buildsWebKit || (Context.environment["SCOPEDNET_VIEWS"] == "GTK" && !leanBuild)
let wantedTests = Context.environment["SCOPEDNET_TESTS"]?.split(separator: ",").map(String.init)
let buildsDemo = buildsAll || (isSet("SCOPEDNET_DEMO") && !leanBuild)

// A dependency that one product alone has hangs on a trait: who does without the product need not even fetch it.
func product(_ name: String, _ package: String, _ trait: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}
let serviceLifecycle = product("ServiceLifecycle", "swift-service-lifecycle", "ServiceLifecycle")
let unixSignals = product("UnixSignals", "swift-service-lifecycle", "ServiceLifecycle")

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
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CEpoll"),
    .systemLibrary(name: "CHeap"),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CThread"),
    // Lock, threads, clocks and errno: one copy for all modules.
    .target(name: "SystemSupport", dependencies: ["CThread"], swiftSettings: settings),
    .target(
        name: "ScopedNet",
        dependencies: [
            "CCurl",
            "CEpoll",
            "CTLS",
            "CZlib",
            "Persistence",
            "Reachability",
            "SystemSupport",
            .target(name: "CBrotli", condition: .when(traits: ["Brotli"])),
            .target(name: "CZstd", condition: .when(traits: ["Zstd"])),
            .product(name: "HTTPTypes", package: "swift-http-types"),
            .product(name: "Logging", package: "swift-log"),
        ],
        swiftSettings: settings
    ),
    .target(name: "ScopedNetFoundation", dependencies: ["ScopedNet", "Reachability", "SystemSupport"], swiftSettings: settings),
    .target(
        name: "ScopedNetTesting",
        dependencies: [
            "ScopedNet", "ScopedNetEndpoints", "Reachability", "SystemSupport", "CHeap",
            .product(name: "HTTPTypes", package: "swift-http-types"),
        ],
        swiftSettings: settings
    ),
    // Over the public API alone: what it needs is there for everybody.
    .target(
        name: "ScopedNetEndpoints", dependencies: ["ScopedNet", .product(name: "HTTPTypes", package: "swift-http-types")],
        packageAccess: false, swiftSettings: settings
    ),
    // What each suite ends with; for test targets alone.
    .target(
        name: "CleanSlate", dependencies: ["Persistence", "ScopedNet", "ScopedNetTesting", "SystemSupport"], path: "Tests/CleanSlate",
        swiftSettings: settings),
    .testTarget(name: "ScopedNetTestingTests", dependencies: ["CleanSlate", "ScopedNet", "ScopedNetTesting"], swiftSettings: settings),
    .systemLibrary(name: "CStore"),
    .target(
        name: "Persistence",
        dependencies: [
            "CStore",
            "SystemSupport",
            .product(name: "GRDB", package: "GRDB.swift"),
            .product(name: "GRDBSQLite", package: "GRDB.swift"),
            .target(name: "CCrypto", condition: .when(traits: ["Encryption"])),
        ],
        swiftSettings: settings
    ),
    // What the tests kill, starve and run side by side.
    .executableTarget(name: "StoreCrasher", dependencies: ["Persistence"], path: "Tests/StoreCrasher", swiftSettings: settings),
    .testTarget(
        name: "PersistenceTests",
        dependencies: ["CleanSlate", "Persistence", "StoreCrasher", "SystemSupport", .product(name: "GRDB", package: "GRDB.swift")],
        swiftSettings: settings
    ),
    .systemLibrary(name: "CNetlink"),
    .target(name: "Reachability", dependencies: ["CNetlink", "SystemSupport"], swiftSettings: settings),
    .systemLibrary(name: "CSandbox", path: "Tests/CSandbox"),
    .testTarget(
        name: "ReachabilityTests",
        dependencies: ["CleanSlate", "Reachability", "ScopedNet", "SystemSupport", "CNetlink", "CSandbox"],
        swiftSettings: settings),
    // libjpeg-turbo, libpng and libwebp, behind a shim that keeps their `longjmp` to itself; without the trait it is empty, and needs none of them.
    .target(
        name: "CImageCodecs",
        cSettings: [.define("SCOPEDNET_IMAGES", .when(traits: ["Images"]))],
        linkerSettings: ["jpeg", "png", "webp", "webpdemux"].map { .linkedLibrary($0, .when(traits: ["Images"])) }),
    .target(
        name: "ScopedNetImages",
        dependencies: [
            "ScopedNet", "Persistence", "SystemSupport", .product(name: "HTTPTypes", package: "swift-http-types"),
            .target(name: "CImageCodecs", condition: .when(traits: ["Images"])),
        ],
        swiftSettings: settings),
    .testTarget(
        name: "ScopedNetImagesTests",
        dependencies: [
            "CleanSlate", "Persistence", "ScopedNet", "ScopedNetImages", "ScopedNetTesting", "SystemSupport",
            .product(name: "HTTPTypes", package: "swift-http-types"),
            .target(name: "CImageCodecs", condition: .when(traits: ["Images"])),
        ] + (leanBuild ? [] : ["scopednet-decoder"]),
        // A helper with limits of memory and system calls has no room for a sanitizer.
        exclude: ["Fixtures"] + (leanBuild ? ["Isolation"] : []), swiftSettings: settings),
    // Requests bound to what a person sees, for any toolkit: without C.
    .target(name: "ScopedNetViews", dependencies: ["ScopedNet", "ScopedNetImages", "SystemSupport"], swiftSettings: settings),
    .testTarget(
        name: "ScopedNetViewsTests",
        dependencies: [
            "CleanSlate", "ScopedNet", "ScopedNetImages", "ScopedNetTesting", "ScopedNetViews", "SystemSupport",
            .product(name: "HTTPTypes", package: "swift-http-types"),
        ] + (leanBuild ? [] : ["ScopedNetService"]),
        exclude: leanBuild ? ["Systemd"] : [], swiftSettings: settings),
    .testTarget(
        name: "ThreadSafetyTests",
        dependencies: ["CleanSlate", "ScopedNet", "ScopedNetEndpoints", "ScopedNetImages", "ScopedNetTesting", "SystemSupport"],
        swiftSettings: settings),
]

if !leanBuild {
    products += [
        .library(name: "ScopedNetTestServer", targets: ["ScopedNetTestServer"]),
        .library(name: "ScopedNetService", targets: ["ScopedNetService"]),
        .library(name: "ScopedNetEndpoints", targets: ["ScopedNetEndpoints"]),
        .library(name: "ScopedNetImages", targets: ["ScopedNetImages"]),
        .library(name: "ScopedNetViews", targets: ["ScopedNetViews"]),
        .executable(name: "scopednet-decoder", targets: ["scopednet-decoder"]),
        .library(name: "ScopedNetTracing", targets: ["ScopedNetTracing"]),
        .library(name: "ScopedNetMetrics", targets: ["ScopedNetMetrics"]),
        .executable(name: "scopednet", targets: ["ScopedNetTool"]),
    ]
    dependencies += [
        .package(url: "https://github.com/apple/swift-nio", from: "2.86.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.36.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
    ]
    targets += [
        .target(
            name: "ScopedNetTestServer",
            dependencies: [
                .target(name: "CCrypto", condition: .when(traits: ["TestServer"])),
                product("NIOCore", "swift-nio", "TestServer"),
                product("NIOPosix", "swift-nio", "TestServer"),
                product("NIOHTTP1", "swift-nio", "TestServer"),
                product("NIOTLS", "swift-nio", "TestServerTLS"),
                product("NIOSSL", "swift-nio-ssl", "TestServerTLS"),
                product("NIOHTTP2", "swift-nio-http2", "TestServerTLS"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ScopedNetService",
            dependencies: [
                "ScopedNet", "Reachability", "SystemSupport", serviceLifecycle, .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        // The other side of `IsolatedDecoder`: C alone, with a list of the system calls that it may make. Faults on request are for its tests.
        .executableTarget(
            name: "scopednet-decoder",
            dependencies: [.target(name: "CImageCodecs", condition: .when(traits: ["Images"]))],
            exclude: ["build-static"],
            cSettings: [
                .define("SCOPEDNET_IMAGES", .when(traits: ["Images"])),
                .define("SCOPEDNET_DECODER_TESTING", .when(configuration: .debug)),
            ]),
        .target(
            name: "ScopedNetTracing",
            dependencies: [
                "ScopedNet", product("Tracing", "swift-distributed-tracing", "Tracing"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ScopedNetMetrics",
            dependencies: [
                "ScopedNet", product("Metrics", "swift-metrics", "Metrics"), .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ScopedNetTool",
            dependencies: [
                "ScopedNet", "ScopedNetImages", "Persistence", "Reachability", "SystemSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                product("ArgumentParser", "swift-argument-parser", "CommandLineTool"),
            ],
            swiftSettings: settings
        ),
        // Without a server: pure types, and the engine over the mock transport. `Shared` is also part of ScopedNetWireTests, by a symbolic link.
        .testTarget(
            name: "ScopedNetTests",
            dependencies: [
                "CleanSlate", "ScopedNet", "ScopedNetFoundation", "ScopedNetTesting", "Reachability", "Persistence", "SystemSupport",
            ],
            swiftSettings: settings
        ),
    ]
}

// Toolkits of the desktop. Their traits are off by default, and without them the targets are empty: nobody else needs their headers.
if !leanBuild {
    products += [
        .library(name: "GLibMainLoop", targets: ["GLibMainLoop"]),
        .library(name: "ScopedNetGTK", targets: ["ScopedNetGTK"]),
        .library(name: "ScopedNetWebKit", targets: ["ScopedNetWebKit"]),
    ]
    targets += [
        // The private functions of libdispatch that the main loop of another library needs.
        .target(name: "CMainQueue"),
        .systemLibrary(name: "CMainLoopGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
        .target(
            name: "GLibMainLoop",
            dependencies: [
                .target(name: "CMainLoopGLib", condition: .when(traits: ["GLib"])),
                .target(name: "CMainQueue", condition: .when(traits: ["GLib"])),
            ],
            swiftSettings: settings),
        .systemLibrary(name: "CViewsGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .target(
            name: "ScopedNetGTK",
            dependencies: [
                "ScopedNet", "ScopedNetImages", "ScopedNetViews",
                .target(name: "CViewsGTK", condition: .when(traits: ["GTK"])),
            ],
            swiftSettings: settings),
        .systemLibrary(name: "CViewsWebKit", pkgConfig: "webkitgtk-6.0", providers: [.apt(["libwebkitgtk-6.0-dev"])]),
        .target(
            name: "ScopedNetWebKit",
            dependencies: ["ScopedNetGTK", "ScopedNetViews", .target(name: "CViewsWebKit", condition: .when(traits: ["WebKit"]))],
            swiftSettings: settings),
    ]
}

if buildsDemo {
    targets += [
        .executableTarget(
            name: "Demo",
            dependencies: [
                "ScopedNet", "ScopedNetEndpoints", "ScopedNetFoundation", "ScopedNetImages", "ScopedNetTestServer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Demo",
            exclude: ["Assets", "Daemon", "README.md"],
            swiftSettings: settings
        )
    ]
}

if buildsAll {
    dependencies.append(.package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"))
    targets += [
        // The library against scripted servers.
        .testTarget(
            name: "ScopedNetWireTests",
            dependencies: [
                "CleanSlate", "ScopedNet", "ScopedNetFoundation", "ScopedNetTesting", "ScopedNetTestServer", "ScopedNetService",
                "Reachability",
                "Persistence", "SystemSupport", "ConformanceClient", "TestProcesses", serviceLifecycle, unixSignals,
            ],
            swiftSettings: settings
        ),
        // One request over a store that others have left.
        .executableTarget(
            name: "ConformanceClient",
            dependencies: ["ScopedNet", "Persistence", .product(name: "HTTPTypes", package: "swift-http-types")],
            path: "Tests/ConformanceClient", swiftSettings: settings),
        // A layer as somebody outside of the package writes it: what is not public does not compile here.
        .testTarget(
            name: "LayerTests", dependencies: ["CleanSlate", "ScopedNet", "ScopedNetTesting"], packageAccess: false, swiftSettings: settings
        ),
        .testTarget(
            name: "ScopedNetEndpointsTests",
            dependencies: [
                "CleanSlate", "Persistence", "ScopedNet", "ScopedNetEndpoints", "ScopedNetTesting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            packageAccess: false, swiftSettings: settings
        ),
        // Spans and metrics, with the backends that both packages bring along for tests.
        .testTarget(
            name: "ScopedNetObservabilityTests",
            dependencies: [
                "CleanSlate", "Persistence", "ScopedNet", "ScopedNetMetrics", "ScopedNetTesting", "ScopedNetTracing", "ScopedNetTestServer",
                .product(name: "HTTPTypes", package: "swift-http-types"), .product(name: "Logging", package: "swift-log"),
                product("InMemoryTracing", "swift-distributed-tracing", "Tracing"), product("MetricsTestKit", "swift-metrics", "Metrics"),
            ],
            swiftSettings: settings
        ),
        // A publisher over a request, with OpenCombine, which nothing else depends on.
        .testTarget(
            name: "OpenCombineTests",
            dependencies: [
                "CleanSlate", "ScopedNet", "ScopedNetTesting", "SystemSupport", .product(name: "OpenCombine", package: "OpenCombine"),
            ],
            swiftSettings: settings
        ),
        // ScopedNet, the curl tool and URLSession with the same exchanges; URLSession is no dependency of anything else.
        .executableTarget(
            name: "Differential",
            dependencies: [
                "ScopedNet", "ScopedNetTestServer", "TestProcesses", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/Differential", swiftSettings: settings),
        .testTarget(
            name: "ScopedNetTestServerTests",
            dependencies: ["CleanSlate", "ScopedNetTestServer", product("NIOCore", "swift-nio", "TestServer")],
            swiftSettings: settings
        ),
        .target(name: "CFaults", dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")], path: "Tests/CFaults"),
        .testTarget(
            name: "FaultInjectionTests",
            dependencies: [
                "CFaults", "CleanSlate", "Persistence", "ScopedNet", "ScopedNetImages", "ScopedNetTestServer", "SystemSupport",
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
            dependencies: ["CHostile", "CleanSlate", "Persistence", "ScopedNet", "SystemSupport", "TestProcesses"],
            path: "Tests/HostileProbe", swiftSettings: settings),
        .testTarget(
            name: "HostileTests",
            dependencies: ["CleanSlate", "HostileProbe", "ScopedNet", "ScopedNetTestServer", "SystemSupport", "TestProcesses"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ScopedNetToolTests",
            dependencies: [
                "CleanSlate", "ScopedNetTool", "ScopedNet", "ScopedNetImages", "Persistence", "ScopedNetTestServer", "TestProcesses",
            ],
            swiftSettings: settings
        ),
    ]
}

// A process whose main thread is GLib's own: `swift test` has the main thread of its processes for itself.
if buildsViews && !buildsAll {
    targets += [
        .executableTarget(
            name: "GTKProbe",
            dependencies: [
                "CViewsGTK", "GLibMainLoop", "ScopedNet", "ScopedNetGTK", "ScopedNetImages", "ScopedNetTesting", "ScopedNetViews",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/GTKProbe", swiftSettings: settings),
        .testTarget(name: "ScopedNetGTKTests", dependencies: ["CleanSlate", "GTKProbe", "TestProcesses"], swiftSettings: settings),
        .executableTarget(
            name: "GLibProbe", dependencies: ["GLibMainLoop", "CMainLoopGLib"], path: "Tests/GLibProbe", swiftSettings: settings),
        .executableTarget(
            name: "GLibRefusalProbe", dependencies: ["GLibMainLoop"], path: "Tests/GLibRefusalProbe", swiftSettings: settings),
        .target(name: "TestProcesses", dependencies: ["CNetlink"], path: "Tests/TestProcesses", swiftSettings: settings),
        .testTarget(
            name: "GLibMainLoopTests", dependencies: ["CleanSlate", "GLibProbe", "GLibRefusalProbe", "TestProcesses"],
            swiftSettings: settings),
    ]
}
if buildsWebKit && !buildsAll {
    targets += [
        .executableTarget(
            name: "WebKitProbe",
            dependencies: [
                "CViewsWebKit", "GLibMainLoop", "ScopedNet", "ScopedNetGTK", "ScopedNetTesting", "ScopedNetViews", "ScopedNetWebKit",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/WebKitProbe", swiftSettings: settings),
        .testTarget(name: "ScopedNetWebKitTests", dependencies: ["CleanSlate", "TestProcesses", "WebKitProbe"], swiftSettings: settings),
    ]
}

// A change that breaks a fuzzer shows in the full build; its corpus is for the sanitizers.
if buildsAll || (leanBuild && wantedTests == nil) {
    targets.append(
        .target(
            name: "FuzzTargets",
            dependencies: [
                "CCurl", "CNetlink", "Reachability", "ScopedNet", "ScopedNetImages",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Fuzz",
            exclude: ["CFuzzer", "Corpus", "Main"],
            swiftSettings: settings
        ))
}
if leanBuild {
    targets.append(.testTarget(name: "FuzzTests", dependencies: ["CleanSlate", "FuzzTargets"], swiftSettings: settings))
    // It is the library that is optimised: the same of its tests would take as long again, and find nothing.
    for target in targets where target.type == .test {
        target.swiftSettings = settings + [.unsafeFlags(["-Onone"], .when(configuration: .release))]
    }
}

// `Scripts/fuzz` builds this with libFuzzer, whose `main` no other build has.
if Context.environment["SCOPEDNET_FUZZ"] == "1" {
    targets += [
        .systemLibrary(name: "CFuzzer", path: "Fuzz/CFuzzer"),
        .executableTarget(name: "Fuzz", dependencies: ["CFuzzer", "FuzzTargets"], path: "Fuzz/Main", swiftSettings: settings),
    ]
}

// For who works on one part: `SCOPEDNET_TESTS=ScopedNetTests,PersistenceTests swift test` builds these test targets alone.
if let wantedTests { targets.removeAll { $0.type == .test && !wantedTests.contains($0.name) } }

var defaultTraits: Set<String> = ["Brotli", "Zstd"]
if leanBuild { defaultTraits.insert("Images") }
if buildsDemo { defaultTraits.insert("TestServer") }
if buildsAll {
    defaultTraits.formUnion([
        "ServiceLifecycle", "Encryption", "CommandLineTool", "TestServerTLS", "Tracing", "Metrics", "Images",
    ])
}

if buildsViews { defaultTraits.formUnion(["GLib", "GTK"]) }
if buildsWebKit { defaultTraits.insert("WebKit") }

let package = Package(
    name: "ScopedNet",
    products: products,
    traits: [
        .trait(name: "Brotli", description: "Decode `Content-Encoding: br` (needs libbrotli-dev)."),
        .trait(name: "Zstd", description: "Decode `Content-Encoding: zstd` (needs libzstd-dev)."),
        .trait(name: "ServiceLifecycle", description: "The services of ScopedNetService (needs swift-service-lifecycle)."),
        .trait(name: "Encryption", description: "Seal stores and caches on disk: AESGCMSealing in Persistence (needs libssl-dev)."),
        .trait(name: "CommandLineTool", description: "The scopednet command (needs swift-argument-parser)."),
        .trait(name: "Tracing", description: "The spans of ScopedNetTracing (needs swift-distributed-tracing)."),
        .trait(name: "Metrics", description: "The metrics of ScopedNetMetrics (needs swift-metrics)."),
        .trait(name: "Images", description: "JPEG, PNG and WebP in ScopedNetImages (needs libjpeg-dev, libpng-dev and libwebp-dev)."),
        .trait(name: "GTK", description: "The widgets of ScopedNetGTK (needs libgtk-4-dev).", enabledTraits: ["GLib"]),
        .trait(name: "WebKit", description: "The web view of ScopedNetWebKit (needs libwebkitgtk-6.0-dev).", enabledTraits: ["GTK"]),
        .trait(name: "GLib", description: "The main queue under GLib, in GLibMainLoop (needs libglib2.0-dev)."),
        .trait(name: "TestServer", description: "The loopback server of ScopedNetTestServer (needs swift-nio)."),
        .trait(
            name: "TestServerTLS", description: "TLS and HTTP/2 in ScopedNetTestServer (needs swift-nio-ssl and swift-nio-http2).",
            enabledTraits: ["TestServer"]),
        .default(enabledTraits: defaultTraits),
    ],
    dependencies: dependencies,
    targets: targets
)
