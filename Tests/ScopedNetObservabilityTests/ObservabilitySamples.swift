#if Tracing && Metrics
import Logging
import ScopedNet
import ScopedNetMetrics
import ScopedNetTracing

// The sample of Interceptors.md, word for word (see `DocumentationTests`).

func watched(_ session: Session, _ logger: Logger) -> Session {
    session.with {
        $0.options.interceptors.addTracing()
        $0.options.interceptors.addMetrics()
        $0.options.interceptors.exchange.append(LoggingInterceptor(logger))
    }
}
#endif
