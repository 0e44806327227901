package typealias Target = @Sendable (UnsafeRawBufferPointer) -> Void

/// What is fed with input, and what must hold for any input. A broken promise traps, which libFuzzer reports with the input.
package let targets: [String: Target] = [
    "head": fuzzResponseHead,
    "coding": fuzzContentCoding,
    "url": fuzzURL,
    "date": fuzzDates,
    "shell": fuzzShellWord,
    "mask": fuzzSecretMask,
    "proxy": fuzzProxyEnvironment,
    "redirect": fuzzRedirect,
    "guard": fuzzAddressFilter,
    "field": fuzzRequestFields,
    "query": fuzzQuery,
    "multipart": fuzzMultipart,
    "form": fuzzForm,
    "pairs": fuzzPairs,
    "cookie": fuzzCookie,
    "challenge": fuzzChallenge,
    "netrc": fuzzNetrc,
    "type": fuzzMediaType,
    "charset": fuzzCharset,
    "cache": fuzzCachedHead,
    "control": fuzzCacheControl,
    "vary": fuzzVary,
    "fresh": fuzzFreshness,
    "range": fuzzRanges,
    "stored": fuzzStoredResponse,
    "resume": fuzzResume,
    "netlink": fuzzNetlink,
    "inet6": fuzzInet6,
    "resolv": fuzzResolverFile,
    "target": fuzzTarget,
    "pin": fuzzPin,
    "certificate": fuzzCertificate,
    "picture": fuzzPicture,
    "frames": fuzzFrames,
    "preview": fuzzPreview,
]

func check(_ holds: Bool, _ promise: @autoclosure () -> String) {
    if !holds { fatalError(promise()) }
}

extension UnsafeRawBufferPointer {
    var text: String { String(decoding: self, as: UTF8.self) }

    /// The first byte decides, the rest is the input.
    var split: (choice: Int, rest: UnsafeRawBufferPointer)? {
        guard let first else { return nil }
        return (Int(first), UnsafeRawBufferPointer(rebasing: dropFirst()))
    }
}
