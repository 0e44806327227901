import BenchKit

/// The whole program; a library, so that two executables can link it with two kinds of runtime.
public enum ScopedNetBench {
    /// Runs the scenario that the arguments name.
    public static func main() {
        let options = Options()
        if options.scenario == "bag" { return BagDeath.run(options) }
        if !Scenarios(options: options, makeClient: { ScopedNetClient(options: $0) }).run() { fail("unknown scenario") }
    }
}
