// swift-tools-version: 6.2
import PackageDescription

// A photo wall in GTK 4, over the products of ScopedNet alone. A package of its own: traits are set for a whole graph of packages, and nobody
// else is to need GTK.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // Photos are painted here: a debug build would take a second for each.
    .unsafeFlags(["-O"], .when(configuration: .debug)),
]

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "ScopedNet") }

let package = Package(
    name: "Gallery",
    dependencies: [.package(name: "ScopedNet", path: "..", traits: [.defaults, "GTK", "Images", "TestServer"])],
    targets: [
        .systemLibrary(name: "CGalleryGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .executableTarget(
            name: "Gallery",
            dependencies: [
                "CGalleryGTK", product("GLibMainLoop"), product("Reachability"), product("ScopedNet"), product("ScopedNetGTK"),
                product("ScopedNetImages"), product("ScopedNetTestServer"), product("ScopedNetViews"),
            ],
            swiftSettings: settings),
    ]
)
