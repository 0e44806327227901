public import ScopedNet
public import ScopedNetImages

/// The pictures of one control: a slot for each of the states normal, highlighted, selected and disabled, on each of two layers.
///
/// Each slot loads, replaces and cancels for itself, as an ``ImageSlot`` does. A combination of states shares the slot of `normal`: its request replaces
/// that of `normal`, and the picture is set for the combination.
@MainActor public final class StatefulImageSlots<Target: StatefulImageDisplaying>: Cancellable {
    private typealias Core = ImageSlotCore<Target>

    /// The slots, made with the object: a cancel on another thread finds all of them.
    private let cores: [Core.Place: Core]

    /// Makes slots without pictures.
    ///
    /// - Parameters:
    ///   - target: the control, held weakly.
    ///   - loader: loads the pictures.
    ///   - bag: ends the slots, for good. Default: none; the loads end with the slots.
    public init(for target: Target, loader: ImageLoader, in bag: DeallocBag? = nil) {
        var cores: [Core.Place: Core] = [:]
        for layer in ControlLayer.allCases {
            for state in [ControlState.normal, .highlighted, .selected, .disabled] {
                cores[Core.Place(state: state, layer: layer)] = Core(target, loader, in: bag)
            }
        }
        self.cores = cores
    }

    /// Looks at the load of one slot.
    ///
    /// - Parameters:
    ///   - state: a state; a combination stands for `normal`. Default: `normal`.
    ///   - layer: the place of the picture. Default: `image`.
    /// - Returns: true while its picture is loading.
    public func isLoading(for state: ControlState = .normal, on layer: ControlLayer = .image) -> Bool {
        core(state, layer)?.isLoading == true
    }

    /// Asks for a picture, in place of the one before in the same slot.
    ///
    /// - Parameters:
    ///   - binding: the picture, its placeholder and closures.
    ///   - state: the state it is for. Default: `normal`.
    ///   - layer: the place of the picture. Default: `image`.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    public func bind(
        _ binding: ImageBinding<Target>, for state: ControlState = .normal, on layer: ControlLayer = .image,
        fileID: StaticString = #fileID, line: Int = #line
    ) {
        core(state, layer)?.bind(binding, at: .init(state: state, layer: layer), fileID, line) { target, image, _ in
            target.display(image, for: state, on: layer)
        }
    }

    /// Ends the load of one slot, silently.
    ///
    /// - Parameters:
    ///   - state: a state; a combination stands for `normal`.
    ///   - layer: the place of the picture. Default: `image`.
    public func cancel(for state: ControlState, on layer: ControlLayer = .image) { core(state, layer)?.cancel() }

    /// Ends all loads, silently. Idempotent, any thread.
    nonisolated public func cancel() {
        for core in cores.values { core.cancel() }
    }

    private func core(_ state: ControlState, _ layer: ControlLayer) -> Core? {
        cores[Core.Place(state: state, layer: layer)] ?? cores[Core.Place(state: .normal, layer: layer)]
    }
}
