import BenchKit

let options = Options()
if !Scenarios(options: options, makeClient: { EndpointClient(options: $0) }).run() { fail("unknown scenario") }
