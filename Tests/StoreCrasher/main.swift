// A program that uses a store the way the tests tell it to, and may be killed at any moment.
//
//     StoreCrasher puts FOLDER private|shared FIRST-VERSION
//     StoreCrasher share FOLDER ORACLE SEED
//     StoreCrasher body FOLDER BYTES
//     StoreCrasher full FOLDER
//     StoreCrasher wait FOLDER none|signals
//     StoreCrasher trust FOLDER UID
//     StoreCrasher end FOLDER exit|return|task|thread|closing|scope|event|reader|hung

switch argument(0) {
case "puts": await PutsForever.run()
case "share": await SharedUse.run()
case "body": await LargeBody.run()
case "full": await FullDisk.run()
case "wait": await Waiting.run()
case "trust": await Trust.run()
case "end": await Ending.run()
default: fail("unknown: \(argument(0))")
}
