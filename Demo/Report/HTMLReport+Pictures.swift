import Foundation
import ScopedNetImages

extension HTMLReport {
    /// The pictures that a page has shown, drawn from the files that the server sent: the report needs nothing from outside.
    func pictures(of page: String?) -> String {
        guard let page, let pictures = summary.pictures[page] else { return "" }
        var paths: [String] = []
        for picture in pictures where !paths.contains(picture.path) { paths.append(picture.path) }
        let figures = paths.map { path in figure(pictures.filter { $0.path == path }) }
        return "<div class=\"pictures\">\(figures.joined(separator: "\n"))</div>"
    }

    /// One file, which is in the report once, with all sizes that were made of it.
    private func figure(_ pictures: [PictureFacts]) -> String {
        let names = pictures.map { "<b>\(escaped($0.name))</b>" }
        guard case .shown(let size, let file?)? = pictures.last?.outcome else {
            let text = "<div class=\"refused\">\(escaped(pictures.first?.result ?? ""))</div>"
            return "<figure>\(text)<figcaption>\(names.joined(separator: "<br>"))</figcaption></figure>"
        }
        let captions = zip(names, pictures).map { "\($0) \(escaped($1.result)), \(escaped($1.source))" }
        let source = "data:\(file.header.format.mediaType);base64,\(file.data.base64EncodedString())"
        return """
            <figure style="width:\(size.width)px"><img src="\(source)" width="\(size.width)" height="\(size.height)" alt="">
            <figcaption>\(captions.joined(separator: "<br>"))</figcaption></figure>
            """
    }
}
