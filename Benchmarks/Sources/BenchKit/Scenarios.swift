import CMeasure
import Dispatch
import Glibc

/// The scenarios of every Swift client, the same as those of `bench-c`. Each prints one line for `Scripts/bench`.
public struct Scenarios {
    private let options: Options
    private let makeClient: (Options) -> any BenchClient

    /// Makes the scenarios of one client, which is made anew for each scenario.
    public init(options: Options, makeClient: @escaping (Options) -> any BenchClient) {
        self.options = options
        self.makeClient = makeClient
    }

    /// False when the scenario is not one of these.
    public func run() -> Bool {
        bench_raise_descriptor_limit()
        switch options.scenario {
        case "load": load(.get, expected: options.expectedBytes)
        case "decode": load(.decode, expected: options.number("items", default: 1))
        case "upload": load(.upload(path: options.text("path") ?? "upload"), expected: 204)
        case "downloads": load(.download(path: options.text("path") ?? "download"), expected: options.expectedBytes)
        case "burst": burst()
        case "wait": burst()
        case "download": download()
        case "cold": cold()
        default: return false
        }
        return true
    }

    private func load(_ work: Workload.Work, expected: Int) {
        let client = makeClient(options)
        warmProcess(client)
        func send(_ requests: Int) {
            Workload.run(
                client, work, door: options.door, url: options.url, requests: requests, inFlight: options.inFlight, expected: expected)
        }
        send(options.number("warm-up", default: 0))
        let begin = bench_window_begin()
        send(options.requests)
        bench_report(options.requests, begin, bench_look(), nil)
    }

    /// Everything at once; `connections` at a time go out. With `warm-up` the window begins with those connections open.
    private func burst() {
        let client = makeClient(options)
        warmProcess(client)
        send(client, requests: options.number("warm-up", default: 0), inFlight: min(options.connections, 64))
        let begin = bench_window_begin()
        send(client, requests: options.requests)
        bench_report(options.requests, begin, bench_look(), nil)
    }

    private func download() {
        let client = makeClient(options)
        warmProcess(client)
        let begin = bench_window_begin()
        let done = DispatchSemaphore(value: 0)
        let expectedBytes = options.expectedBytes
        client.download(options.url, to: options.text("path") ?? "download") { bytes in
            guard bytes == expectedBytes else { fail("\(bytes) bytes instead of \(expectedBytes)") }
            done.signal()
        }
        done.wait()
        bench_report(1, begin, bench_look(), nil)
    }

    private func cold() {
        send(makeClient(options), requests: 1)
        bench_report(1, bench_sample(), bench_look(), nil)
        exit(0)
    }

    private func send(_ client: any BenchClient, requests: Int, inFlight: Int? = nil) {
        Workload.run(
            client,
            door: options.door,
            url: options.url,
            requests: requests,
            inFlight: inFlight ?? options.inFlight,
            expected: options.expectedBytes
        )
    }

    /// One request to another server, so that nothing of the process itself is new in the window.
    private func warmProcess(_ client: any BenchClient) {
        guard let url = options.text("warm-url") else { return }
        Workload.run(client, door: options.door, url: url, requests: 1, inFlight: 1, expected: 1024)
    }
}

/// Ends the program with a reason on standard error.
public func fail(_ reason: String) -> Never { bench_fail(CommandLine.arguments[0], reason) }
