// Starts, drains and stops a listener's threads. Control plane.
#include "transport/listener.h"

#include <utility>
#include <vector>

#include "transport/http2/connection.h"
#include "transport/loop/thread.h"

namespace serval {

namespace {

Error named(Serves serves, const Error& error) {
  return make_error(error.code, std::string(name_of(serves)) + " " + error.message);
}

}  // namespace

struct TransportListener::State {
  SharedListener shared;
  MakeHandler make_handler;
  std::vector<std::unique_ptr<ListenerThread>> threads;
};

TransportListener::TransportListener(std::unique_ptr<State> state) : state_(std::move(state)) {}

TransportListener::~TransportListener() {
  for (const auto& thread : state_->threads) thread->stop();
  state_->threads.clear();
}

Result<std::unique_ptr<TransportListener>> TransportListener::start(
    TransportSettings settings, std::shared_ptr<MemoryBudget> budget, TransportEvents events,
    const MakeHandler& make_handler) {
  auto state = std::make_unique<State>();
  SharedListener& shared = state->shared;
  shared.settings = std::move(settings);
  shared.budget = std::move(budget);
  shared.events = std::move(events);
  state->make_handler = make_handler;
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
  auto& threads = state->threads;
  for (uint32_t i = 0; i < given.threads; ++i) {
    threads.push_back(std::make_unique<ListenerThread>(shared, i, state->make_handler));
  }
  auto listener = std::make_unique<TransportListener>(std::move(state));
  for (const auto& thread : threads) {
    if (Status started = thread->start(); !started.ok()) return std::move(started.error());
  }
  return listener;
}

uint16_t TransportListener::port() const { return state_->shared.sockets.port(); }

void TransportListener::drain(uint64_t ms, std::function<void(uint64_t cut)> drained) {
  SharedListener& shared = state_->shared;
  shared.drained = std::move(drained);
  shared.threads_left.store(static_cast<uint32_t>(state_->threads.size()));
  shared.sockets.stop();
  const uint64_t until = after_ms(shared.settings.clock(), ms);
  for (const auto& thread : state_->threads) thread->drain(until);
}

void TransportListener::reload_certificates() {
  state_->shared.reload_asked.store(true);
  for (const auto& thread : state_->threads) thread->wake();
}

uint64_t TransportListener::connections() const { return state_->shared.connections.open.load(); }

}  // namespace serval
