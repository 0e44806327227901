/// The response that a run is receiving.
struct ReceivingState {
    var source = ResponseSource.network
    /// The head was of a type that is not accepted, and so the body went nowhere.
    var isTypeRefused = false
    /// The body that is coming is what was asked for, or the rest of it; progress tells of nothing else.
    var bodyIsValue = true
    /// The length of the body that the decoder was given, or that is in the file.
    var decodedBytes: Int?
    /// A response whose body waits for the program.
    var held: HeldResponse?
}
