#if Tracing
import HTTPTypes
import ScopedNet
import Tracing

/// Writes what a tracer has to send into the fields of a request. What is no field is left out.
struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HeaderFields) {
        guard let name = HTTPField.Name(key) else { return }
        fields.fields[name] = value
    }
}
#endif
