import CCurl
import Glibc

/// The lists that libcurl reads the overrides of names from, for as long as a transport has handles.
final class OverrideLists {
    private(set) var resolves: UnsafeMutablePointer<curl_slist>?
    private(set) var connectsTo: UnsafeMutablePointer<curl_slist>?

    init(_ overrides: HostOverrides) throws(NetworkError) {
        // Both before the first allocation: nothing is left behind where one of them is malformed.
        let lines = (try overrides.resolveLines(), try overrides.connectLines())
        for line in lines.0 { try Self.append(line, to: &resolves) }
        for line in lines.1 { try Self.append(line, to: &connectsTo) }
    }

    deinit {
        curl_slist_free_all(resolves)
        curl_slist_free_all(connectsTo)
    }

    private static func append(_ line: String, to list: inout UnsafeMutablePointer<curl_slist>?) throws(NetworkError) {
        guard let longer = curl_slist_append(list, line) else { throw .resources("curl list", ENOMEM) }
        list = longer
    }
}

extension EasyProfile {
    /// Sets the overrides on a handle that is about to begin a transfer.
    ///
    /// libcurl puts the addresses into the name cache of the multi handle once for each time the option is set (Curl_loadhostpairs in hostip.c),
    /// and the multi handle is another one behind a change of the network.
    func applyOverrides(to easy: CurlEasy) throws(NetworkError) {
        guard !overrides.isEmpty else { return }
        if overrideLists == nil { overrideLists = try OverrideLists(overrides) }
        let options = CurlOptions(easy: easy)
        options.note(scurl_set_list(easy.handle, CURLOPT_RESOLVE, overrideLists?.resolves))
        options.note(scurl_set_list(easy.handle, CURLOPT_CONNECT_TO, overrideLists?.connectsTo))
    }

    /// True if a proxy is asked for a tunnel to the server: for TLS, and where the connection goes elsewhere than the URL says.
    func tunnels(_ url: RequestURL) -> Bool {
        url.scheme == "https" || overrides.destination(host: url.host, port: url.port) != nil
    }
}
