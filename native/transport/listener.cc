// Starts, drains and stops a listener's threads. Control plane.
#include "transport/listener.h"

#include <utility>

#include "transport/http2/connection.h"
#include "transport/loop/thread.h"
#include "transport/threads.h"

namespace serval {

namespace {

Error named(Serves serves, const Error& error) {
  return make_error(error.code, std::string(name_of(serves)) + " " + error.message);
}

}  // namespace

struct TransportListener::State {
  SharedListener shared;
  std::unique_ptr<ListenerThreads> threads;
};

TransportListener::TransportListener(std::unique_ptr<State> state) : state_(std::move(state)) {}

TransportListener::~TransportListener() { state_->threads.reset(); }

Result<std::unique_ptr<TransportListener>> TransportListener::start(
    TransportSettings settings, std::shared_ptr<MemoryBudget> budget, TransportEvents events,
    const MakeHandler& make_handler) {
  auto state = std::make_unique<State>();
  SharedListener& shared = state->shared;
  shared.settings = std::move(settings);
  shared.budget = std::move(budget);
  shared.events = std::move(events);
  const TransportSettings& given = shared.settings;
  if (given.tls.enabled) {
    Result<std::unique_ptr<TlsContext>> tls = TlsContext::make(given.tls);
    if (!tls.ok()) return named(given.serves, tls.error());
    shared.tls = std::move(tls.value());
  }
  Result<ListeningSockets> sockets =
      ListeningSockets::open(given.host, given.port, UnixSocket(given.unix_path, given.unix_mode),
                             given.threads, given.reuse_port);
  if (!sockets.ok()) return named(given.serves, sockets.error());
  shared.sockets = std::move(sockets.value());
  shared.callbacks = Http2Connection::make_callbacks();
  shared.options = Http2Connection::make_options();
  if (shared.callbacks == nullptr || shared.options == nullptr) {
    return named(given.serves, make_error(ErrorCode::Internal, "listener: out of memory"));
  }
  state->threads = std::make_unique<ListenerThreads>(shared, make_handler);
  shared.threads = state->threads.get();
  if (Status started = state->threads->start(); !started.ok()) return std::move(started.error());
  return std::make_unique<TransportListener>(std::move(state));
}

uint16_t TransportListener::port() const { return state_->shared.sockets.port(); }

void TransportListener::drain(uint64_t ms, std::function<void(uint64_t cut)> drained) {
  SharedListener& shared = state_->shared;
  shared.drained = std::move(drained);
  state_->threads->drain(after_ms(shared.settings.clock(), ms));
}

void TransportListener::reload_certificates() {
  state_->shared.reload_asked.store(true);
  state_->threads->wake();
}

uint32_t TransportListener::threads() const { return state_->threads->count(); }

uint64_t TransportListener::connections() const { return state_->shared.connections.open.load(); }

}  // namespace serval
