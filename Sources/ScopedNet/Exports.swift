// Methods and header fields are part of the public API (`method: .post`, `headers[.accept]`): one import is enough to write them.
@_exported public import HTTPTypes
