// swift-tools-version: 6.2
import PackageDescription

// Pictures, beside plain libjpeg-turbo, libpng and libwebp in C. A package of its own: the trait `Images` is set for a whole graph of
// packages, and the other benchmarks are measured without it. CMeasure is that of `Benchmarks`, by a symbolic link.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "ImageBenchmarks",
    dependencies: [.package(name: "ScopedNet", path: "../..", traits: [.defaults, "Images"])],
    targets: [
        .target(name: "CMeasure"),
        .target(name: "CPlainImages", linkerSettings: ["jpeg", "png", "webp", "z", "m"].map { .linkedLibrary($0) }),
        .executableTarget(
            name: "bench-images",
            dependencies: [
                "CMeasure", "CPlainImages",
                .product(name: "ScopedNet", package: "ScopedNet"),
                .product(name: "ScopedNetImages", package: "ScopedNet"),
                .product(name: "Persistence", package: "ScopedNet"),
                // The helper of IsolatedDecoder, which is looked for beside this program.
                .product(name: "scopednet-decoder", package: "ScopedNet"),
            ],
            swiftSettings: settings),
    ]
)
