import FoundationEssentials
public import ScopedNet

/// The page of one view: at most one load at a time, which ends with the slot.
///
/// ```swift
/// pages.bind(PageBinding(session.get("help")))
/// ```
///
/// The view is told once that a page is on its way, and once that it is shown or cannot be. Another page, and a cancel, end the load before, silently
/// (``PageDisplaying/stopLoading()``). The slot holds the view weakly.
@MainActor public final class PageSlot<Target: PageDisplaying>: Cancellable {
    private let view: ShownWork<Target>
    private let scope: SlotScope<PageBinding<Target>>
    nonisolated private var work: SlotWork<PageBinding<Target>> { scope.work }

    /// Makes a slot without a page.
    ///
    /// - Parameters:
    ///   - target: the view, held weakly.
    ///   - bag: ends the slot, for good. Default: none; the load ends with the slot.
    public init(for target: Target, in bag: DeallocBag? = nil) {
        view = ShownWork(target) { $0.stopLoading() }
        scope = SlotScope(in: bag)
    }

    /// True from the start of a page until the view shows it, or cannot.
    public var isLoading: Bool { work.content != nil }

    /// Loads a page, in place of the one before.
    ///
    /// - Parameters:
    ///   - binding: the request, a transform and closures.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the run, for a ``ProgressSlot``, say; nil where the view or the bag has gone, and nothing is started.
    @discardableResult
    public func bind(_ binding: PageBinding<Target>, fileID: StaticString = #fileID, line: Int = #line) -> Run? {
        work.cancel()
        view.end()
        guard let target = view.target, let number = work.begin(binding) else { return nil }
        view.begin(number)
        target.pageDidStart()
        // The view may have asked for another page, or for none.
        guard work.content(of: number) != nil else {
            view.end(number)
            return nil
        }
        let run = binding.request
            .onResponse(for: self, fileID: fileID, line: line) { slot, response in slot.received(response, number) }
            .onFailure(for: self, fileID: fileID, line: line) { slot, error in slot.finish(.failure(error), number) }
            .onDownloadProgress(for: self, fileID: fileID, line: line) { slot, progress in slot.progressed(progress, number) }
            .onEnd(for: self, fileID: fileID, line: line) { slot, reason in if reason.isCancelled { slot.cancelled(number) } }
            .start(fileID: fileID, line: line)
        work.set(view.end(number) { [core = run.core] in _ = core.cancel(.explicit) }, of: number)
        return run
    }

    /// Ends the load, silently: no closure is called, and the view keeps what it shows. Idempotent, any thread; the view is told on the main actor.
    nonisolated public func cancel() { work.cancel() }

    // MARK: The run tells

    private func progressed(_ progress: TransferProgress, _ number: UInt64) {
        guard let binding = work.content(of: number), let target = view.target else { return }
        binding.onProgress?(target, progress)
    }

    private func received(_ response: Response<Data>, _ number: UInt64) {
        guard let binding = work.content(of: number) else { return }
        guard let target = view.target else { return work.cancel() }
        let page: PageContent
        do { page = try binding.transform.page(of: response) } catch { return finish(.failure(error), number) }
        // The transform may have asked for another page.
        guard work.content(of: number) != nil else { return }
        target.load(page) { [weak self] result in self?.finish(result, number) }
    }

    private func cancelled(_ number: UInt64) {
        _ = work.end(number)
        view.end(number)
    }

    /// The only end of a page.
    private func finish(_ result: Result<Void, any Error>, _ number: UInt64) {
        guard let binding = work.end(number) else { return }
        view.forget(number)
        guard let target = view.target else { return }
        switch result {
        case .success:
            target.pageDidFinish()
            binding.onFinish?(target)
        case .failure(let error):
            target.pageDidFail(error)
            binding.onFailure?(target, error)
        }
    }
}
