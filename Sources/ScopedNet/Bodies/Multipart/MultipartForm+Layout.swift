package import FoundationEssentials

/// What the body is made of, from its first byte to its last. (pure)
extension MultipartForm {
    package enum Piece: Sendable {
        case text(String)
        case content(MultipartPart)

        package var length: Int64? {
            switch self {
            case .text(let text): Int64(text.utf8.count)
            case .content(let part): part.length
            }
        }
    }

    /// Delimiters and headers (RFC 2046 section 5.1), and between them the contents. Empty where there are no parts.
    package var layout: [Piece] {
        guard !parts.isEmpty else { return [] }
        var pieces: [Piece] = []
        for (index, part) in parts.enumerated() {
            pieces.append(.text((index == 0 ? boundary.opening : boundary.separator) + part.header))
            pieces.append(.content(part))
        }
        return pieces + [.text(boundary.closing)]
    }

    package var isReplayable: Bool {
        parts.allSatisfy { part in if case .sequence(let pieces) = part.content { pieces.isReplayable } else { true } }
    }

    /// A chosen boundary that is in content which is here already.
    package var holdsItsBoundary: Bool {
        guard boundary.isChosen else { return false }
        return parts.contains { part in
            guard case .data(let data) = part.content else { return false }
            var search = BoundarySearch(boundary)
            return search.finds(in: data)
        }
    }

    /// The whole body, where all of it is here and small enough to be sent in one piece.
    package func inMemory(upTo limit: Int64) -> Data? {
        guard let length = contentLength, length <= limit else { return nil }
        var body = Data(capacity: Int(length))
        for piece in layout {
            switch piece {
            case .text(let text): body.append(contentsOf: text.utf8)
            case .content(let part):
                guard case .data(let data) = part.content else { return nil }
                body.append(data)
            }
        }
        return body
    }
}
