public import ScopedNet

/// The pages of a list, loaded as they are asked for. Made by ``APIClient/pages(of:prefetching:in:)``; each iteration begins with the first page.
public struct Pages<Service: APIService, E: PagedEndpoint>: AsyncSequence, Sendable {
    let client: APIClient<Service>
    let endpoint: E
    let fetchesAhead: Bool
    /// Ends with the owner's bag, which a sequence that somebody iterates over must not keep alive.
    let scope: PagerScope

    /// The elements of all pages, one after the other.
    public var elements: PageElements<Service, E> { PageElements(pages: self) }

    /// Begins with the first page.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pager: Pager(client, endpoint, fetchesAhead: fetchesAhead, scope: scope.another()))
    }

    /// The pages of one iteration. Dropping it takes back a page that is on its way.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var pager: Pager<Service, E>?

        init(pager: Pager<Service, E>) { self.pager = pager }

        /// Returns the next page; nil behind the last one, and behind an error.
        public mutating func next() async throws(Service.Failure) -> Page<E>? { try await next(isolation: nil) }

        /// Returns the next page; nil behind the last one, and behind an error.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Service.Failure) -> Page<E>? {
            guard let pager else { return nil }
            do throws(Service.Failure) {
                guard let page = try await pager.next() else {
                    self.pager = nil
                    return nil
                }
                return page
            } catch {
                self.pager = nil
                throw error
            }
        }
    }
}

/// The elements of a list that comes in pages; see ``Pages/elements``.
public struct PageElements<Service: APIService, E: PagedEndpoint>: AsyncSequence, Sendable {
    let pages: Pages<Service, E>

    /// Begins with the first element.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: pages.makeAsyncIterator()) }

    /// The elements of one iteration.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var pages: Pages<Service, E>.AsyncIterator
        private var elements: [E.Element] = []
        private var index = 0

        init(pages: Pages<Service, E>.AsyncIterator) { self.pages = pages }

        /// Returns the next element; nil behind the last one, and behind an error.
        public mutating func next() async throws(Service.Failure) -> E.Element? { try await next(isolation: nil) }

        /// Returns the next element; nil behind the last one, and behind an error.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Service.Failure) -> E.Element? {
            while index >= elements.count {
                guard let page = try await pages.next(isolation: actor) else { return nil }
                (elements, index) = (page.elements, 0)
            }
            defer { index += 1 }
            return elements[index]
        }
    }
}

extension APIClient {
    /// Makes the sequence of the pages of a list.
    ///
    /// - Parameters:
    ///   - endpoint: the first page.
    ///   - prefetching: true to load the next page while one is worked on. Default: false.
    ///   - bag: ends it, too: whoever waits gets the error of a cancelled call. Default: none.
    /// - Returns: the sequence; nothing is sent before it is iterated over.
    public func pages<E: PagedEndpoint>(of endpoint: E, prefetching: Bool = false, in bag: DeallocBag? = nil) -> Pages<Service, E> {
        Pages(client: self, endpoint: endpoint, fetchesAhead: prefetching, scope: PagerScope(in: bag))
    }

    /// Makes a list that is loaded as a view asks for more; parameters as for ``pages(of:prefetching:in:)``.
    public func pager<E: PagedEndpoint>(of endpoint: E, prefetching: Bool = false, in bag: DeallocBag? = nil) -> Pager<Service, E> {
        Pager(self, endpoint, fetchesAhead: prefetching, scope: PagerScope(in: bag))
    }
}
