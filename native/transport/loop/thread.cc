// The event loop of a listener's thread. Hot path; the thread itself.
#include "transport/loop/thread.h"

#include <nghttp2/nghttp2.h>
#include <pthread.h>

#include <algorithm>
#include <future>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "transport/http2/connection.h"
#include "transport/loop/opening.h"

namespace serval {

namespace {

constexpr uint64_t kSecondNs = 1'000 * kNsPerMs;
constexpr uint64_t kDrainLookNs = 50 * kNsPerMs;
constexpr uint64_t kCertificatesLookNs = kSecondNs;
constexpr size_t kAcceptsPerTurn = 64;
constexpr size_t kOutputsKept = 8;
constexpr size_t kUnpackStepBytes = 256 * 1024;  // 1 ms
constexpr uint64_t kScarceBytes = 64u << 20;     // with less left, stalled clients are cut sooner
constexpr uint32_t kIndexBits = 20;
constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;

}  // namespace

SharedListener::~SharedListener() {
  if (callbacks != nullptr) nghttp2_session_callbacks_del(callbacks);
  if (options != nullptr) nghttp2_option_del(options);
}

ListenerThread::ListenerThread(SharedListener& shared, uint32_t index,
                               const TransportListener::MakeHandler& make)
    : shared_(shared),
      index_(index),
      make_(make),
      balances_(shared.settings.threads_max > shared.settings.threads),
      blocks_(*shared.budget, shared.events.free_large),
      read_buffer_(std::make_unique<uint8_t[]>(kReadBytes)),
      unpacked_(std::make_shared<UnpackedBox>(poller_)),
      random_(static_cast<uint32_t>(now_ns()) ^ index) {}

ListenerThread::~ListenerThread() {
  stop();
  unpacked_->close();
}

Status ListenerThread::start(bool waits) {
  if (!poller_.ok()) {
    return make_error(ErrorCode::Internal,
                      std::string(name_of(settings().serves)) +
                          ": no file descriptors are left for a listener thread");
  }
  const std::string name =
      (settings().serves == Serves::Grpc ? "sv-grpc-" : "sv-http-") + std::to_string(index_);
  const auto ready = std::make_shared<std::promise<void>>();
  try {
    thread_ = std::thread([this, name, ready] {
      pthread_setname_np(pthread_self(), name.c_str());
      now_ns_ = settings().clock();
      handler_ = make_(*this);
      open_doors();
      acceptor_.emplace(shared_.connections, shared_.settings.connections_max);
      if (index_ == 0 && shared_.tls != nullptr) tls_look_ns_ = now_ns_ + kCertificatesLookNs;
      ready->set_value();
      run();
    });
  } catch (const std::system_error& problem) {
    return make_error(ErrorCode::Internal,
                      std::string(name_of(settings().serves)) +
                          ": cannot start a listener thread: " + problem.what());
  }
  if (waits) ready->get_future().wait();
  return {};
}

// Threads that are added later accept nothing; see ListenerThreads::place().
void ListenerThread::open_doors() {
  if (index_ >= settings().threads) return;
  for (const int socket : shared_.sockets.of_thread(index_)) {
    doors_.push_back(std::make_unique<Door>(Door{socket}));
    poller_.add(socket, EPOLLIN, doors_.back().get());
  }
}

void ListenerThread::drain(uint64_t until_ns) {
  drain_until_ns_.store(std::max<uint64_t>(until_ns, 1));
  poller_.wake();
}

void ListenerThread::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  poller_.wake();
  thread_.join();
}

double ListenerThread::random() { return std::uniform_real_distribution<double>(0, 1)(random_); }

void ListenerThread::run() {
  while (!stopping_.load(std::memory_order_relaxed)) turn();
  take_arrivals(true);
  cut_all();
  bury();
  if (draining_ && !drain_ended_) end_drain();
  handler_.reset();
  acceptor_.reset();
}

uint64_t ListenerThread::wait_until() const {
  if (!unread_.empty() || !dirty_.empty() || !resuming_.empty()) return 0;
  uint64_t until_ns = std::min({timers_.next_ns(), look_ns_, unsent_look_ns_, tls_look_ns_});
  for (const Departure& one : departures_) until_ns = std::min(until_ns, one.until_ns);
  return std::min(until_ns, meter_.due_ns());
}

// Sets the time of the turn.
std::span<const epoll_event> ListenerThread::wait(bool& woken) {
  if (balances_) meter_.waits(settings().clock());
  const std::span<const epoll_event> events = poller_.wait(wait_until(), woken);
  now_ns_ = settings().clock();
  if (balances_) meter_.woke(now_ns_);
  return events;
}

// One wake-up: delivers everything received, then flushes what handlers collected, then writes
// responses.
void ListenerThread::turn() {
  bool woken = false;
  const std::span<const epoll_event> events = wait(woken);
  if (woken) {
    take_arrivals(false);
    if (!draining_ && drain_until_ns_.load() != 0) begin_drain();
    handler_->woken();
  }
  hear(events);
  run_resuming();
  if (woken) take_unpacked();
  handler_->turn_ended();
  run_due();
  flush_all();
  if (!departures_.empty()) send_departures();
  bury();
  if (now_ns_ >= meter_.due_ns()) interval_ended();
}

// Accepts connections if the event is of a listening socket.
bool ListenerThread::is_door(const epoll_event& event) {
  const auto door = std::find_if(doors_.begin(), doors_.end(),
                                 [&](const auto& one) { return one.get() == event.data.ptr; });
  if (door == doors_.end()) return false;
  if (!draining_) accept((*door)->socket);
  return true;
}

void ListenerThread::hear(std::span<const epoll_event> events) {
  turn_bytes_ = 0;
  if (order_.is_shared(now_ns_)) {
    hear_in_order(events);
    return;
  }
  read_share_ = SIZE_MAX;
  // Those that had to wait come first, in their order.
  std::vector<Connection*> unread;
  unread.swap(unread_);
  for (Connection* connection : unread) {
    connection->set_deferred(false);
    read(*connection);
  }
  for (const epoll_event& event : events) {
    if (is_door(event)) continue;
    auto* connection = static_cast<Connection*>(event.data.ptr);
    connection->count_work(interval_);
    if ((event.events & EPOLLOUT) != 0) connection->writable();
    if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read(*connection);
  }
}

void ListenerThread::read(Connection& connection) {
  if (connection.is_deferred()) return;
  if (turn_bytes_ < kTurnBytes || !connection.reads_much()) {
    order_.begin_reading();
    reading_ = &connection;
    connection.readable();
    if (order_.noted().flow != 0) reading_->set_flow(order_.noted());
    return;
  }
  connection.set_deferred(true);
  unread_.push_back(&connection);
}

// Makes ready_: the connections that wait for a later turn, and those of the events, each once.
// While they wait they are marked as deferred.
void ListenerThread::collect_ready(std::span<const epoll_event> events) {
  ready_.clear();
  const auto add = [this](Connection& connection) {
    if (connection.is_deferred() || connection.is_dead()) return;
    connection.set_deferred(true);
    ready_.push_back({order_.start_of(connection.flow()), connection.read_number(), &connection});
  };
  for (Connection* connection : unread_) connection->set_deferred(false);
  for (Connection* connection : unread_) add(*connection);
  unread_.clear();
  for (const epoll_event& event : events) {
    if (is_door(event)) continue;
    auto* connection = static_cast<Connection*>(event.data.ptr);
    connection->count_work(interval_);
    reading_ = connection;
    if ((event.events & EPOLLOUT) != 0) connection->writable();
    // Another one may have taken its place.
    if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) add(*reading_);
  }
}

// Hot path: receive, while several models or keys are in use. Reads connections of one flow and
// part, those that are next, for a short time; the others wait for the next turn, in which a
// connection of a flow that used less goes first. So a response waits for one such turn and not for
// all connections.
void ListenerThread::hear_in_order(std::span<const epoll_event> events) {
  collect_ready(events);
  if (ready_.empty()) return;
  const auto next = std::ranges::min_element(
      ready_, {}, [](const Ready& one) { return std::pair(one.start, one.number); });
  const ReadFlow flow = next->connection->flow();
  const auto others = std::partition(ready_.begin(), ready_.end(), [flow](const Ready& one) {
    return one.connection->flow() == flow;
  });
  const auto own = static_cast<size_t>(others - ready_.begin());
  const size_t most = std::min(own, ReadingOrder::kTurnConnections);
  const auto end = ready_.begin() + static_cast<ptrdiff_t>(most);
  std::ranges::partial_sort(ready_.begin(), end, others, {}, &Ready::number);
  uint64_t at_ns = settings().clock();
  const uint64_t until_ns = at_ns + ReadingOrder::turn_ns(ready_.size());
  for (size_t i = 0; i < ready_.size(); ++i) {
    Connection* const connection = ready_[i].connection;
    if (i == 0 || (i < most && at_ns < until_ns)) {
      connection->set_deferred(false);
      at_ns = read_in_order(*connection, at_ns);
    } else {
      unread_.push_back(connection);
    }
  }
}

// Returns when it ended.
uint64_t ListenerThread::read_in_order(Connection& connection, uint64_t began_ns) {
  order_.begin_reading();
  read_bytes_ = 0;
  read_share_ = ReadingOrder::bytes_for(connection.byte_ns());
  connection.set_read_number(++reads_);
  reading_ = &connection;
  connection.readable();
  const uint64_t ended_ns = settings().clock();
  const uint64_t took_ns = ended_ns - began_ns;
  if (order_.noted().flow != 0) reading_->set_flow(order_.noted());
  order_.charge(reading_->flow(), took_ns);
  if (read_bytes_ > 0) {
    reading_->set_byte_ns(static_cast<float>(took_ns) / static_cast<float>(read_bytes_));
  }
  return ended_ns;
}

void ListenerThread::accept(int listening) {
  for (size_t i = 0; i < kAcceptsPerTurn; ++i) {
    int socket = -1;
    switch (acceptor_->accept(listening, socket)) {
      case Acceptor::Outcome::Accepted:
        if (balances_) place(socket);
        else take(socket);
        break;
      case Acceptor::Outcome::Full: {
        if (may_tell(shared_.full_told_ns) && shared_.events.full) {
          shared_.events.full(shared_.connections.open.load());
        }
        break;
      }
      case Acceptor::Outcome::None: return;
    }
  }
}

bool ListenerThread::may_tell(std::atomic<uint64_t>& told_ns) const {
  uint64_t told = told_ns.load();
  const bool may = now_ns_ - told >= kSecondNs || told == 0;
  return may && told_ns.compare_exchange_strong(told, now_ns_);
}

void ListenerThread::handshake_failed(std::string peer, std::string reason) {
  const uint64_t count = shared_.handshakes_failed.fetch_add(1) + 1;
  if (!may_tell(shared_.handshake_told_ns) || !shared_.events.handshake_failed) return;
  shared_.events.handshake_failed({count, std::move(peer), std::move(reason)});
}

void ListenerThread::take(int socket) {
  std::unique_ptr<Channel> channel =
      shared_.tls != nullptr ? shared_.tls->accept(socket) : plain_channel(socket);
  std::unique_ptr<Connection> made;
  if (settings().serves == Serves::Grpc && shared_.tls == nullptr) {
    made = std::make_unique<Http2Connection>(*this, std::move(channel), now_ns_);
  } else {
    made = std::make_unique<OpeningConnection>(*this, std::move(channel));
  }
  Connection* connection = made.release();
  link(connection);
  handler_->connected(1);
  poller_.add(socket, EPOLLIN, connection);
  if (!connection->begin()) connection->end();
}

void ListenerThread::link(Connection* connection) {
  connection_count_.fetch_add(1, std::memory_order_relaxed);
  connection->previous = nullptr;
  connection->next = connections_;
  if (connections_ != nullptr) connections_->previous = connection;
  connections_ = connection;
}

void ListenerThread::unlink(Connection* connection) {
  connection_count_.fetch_sub(1, std::memory_order_relaxed);
  if (connection->previous != nullptr) connection->previous->next = connection->next;
  else connections_ = connection->next;
  if (connection->next != nullptr) connection->next->previous = connection->previous;
}

void ListenerThread::replace(Connection& before, std::unique_ptr<Connection> made) {
  Connection* connection = made.release();
  if (reading_ == &before) reading_ = connection;
  unlink(&before);
  replaced_.emplace_back(&before);
  link(connection);
  interest(*connection, EPOLLIN);
}

void ListenerThread::interest(Connection& connection, uint32_t events) {
  poller_.change(connection.channel().socket(), events, &connection);
}

std::unique_ptr<Output> ListenerThread::take_output() {
  if (outputs_.empty()) return std::make_unique<Output>(blocks_);
  std::unique_ptr<Output> output = std::move(outputs_.back());
  outputs_.pop_back();
  return output;
}

void ListenerThread::give_output(std::unique_ptr<Output> output) {
  output->clear();
  if (outputs_.size() < kOutputsKept) outputs_.push_back(std::move(output));
}

void ListenerThread::add_call(NumberedCall& call) {
  uint32_t index = 0;
  if (free_calls_.empty()) {
    index = static_cast<uint32_t>(calls_.size());
    calls_.emplace_back();
  } else {
    index = free_calls_.back();
    free_calls_.pop_back();
  }
  calls_[index].call = &call;
  // Never 0, and exact in a double: JavaScript holds it as a number.
  const uint64_t id = (static_cast<uint64_t>(++calls_[index].use) << kIndexBits | index);
  call.set_id(id);
  if (call.deadline_ns() != 0) timed_.push_back(id);
}

void ListenerThread::remove_call(NumberedCall& call) {
  const uint32_t index = static_cast<uint32_t>(call.id()) & kIndexMask;
  calls_[index].call = nullptr;
  free_calls_.push_back(index);
  timers_.clear(call.due_node());
}

NumberedCall* ListenerThread::numbered(uint64_t id) {
  const uint32_t index = static_cast<uint32_t>(id) & kIndexMask;
  if (index >= calls_.size() || calls_[index].use != id >> kIndexBits) return nullptr;
  return calls_[index].call;
}

Call* ListenerThread::find(uint64_t id) {
  NumberedCall* call = numbered(id);
  return call == nullptr ? nullptr : call->as_call();
}

HttpRequest* ListenerThread::find_request(uint64_t id) {
  NumberedCall* call = numbered(id);
  return call == nullptr ? nullptr : call->as_request();
}

void ListenerThread::run_due() {
  for (const uint64_t id : timed_) {
    NumberedCall* call = numbered(id);
    if (call != nullptr) timers_.set(call->due_node(), call->deadline_ns());
  }
  timed_.clear();
  while (TimerNode* node = timers_.take(now_ns_)) {
    auto* due = static_cast<DueNode*>(node);
    if (due->call != nullptr) due->call->deadline_passed();
    else due->connection->due(now_ns_);
  }
  if (now_ns_ >= look_ns_) look_at_drain();
  if (now_ns_ >= unsent_look_ns_) look_at_unsent();
  if (now_ns_ >= tls_look_ns_ || shared_.reload_asked.load(std::memory_order_relaxed)) {
    look_at_certificates();
  }
}

// Without other threads the step runs here: it is short, and other connections get their turns
// between steps.
void ListenerThread::unpack(uint64_t id, std::shared_ptr<Unpacking> message) {
  const auto step = [id, message = std::move(message), box = unpacked_] {
    message->step(kUnpackStepBytes);
    box->put(id, message);
  };
  if (!shared_.events.elsewhere || !shared_.events.elsewhere(step)) step();
}

void ListenerThread::take_unpacked() {
  for (auto& [id, message] : unpacked_->take()) {
    if (NumberedCall* call = numbered(id); call != nullptr) {
      call->unpack_on();
    } else {
      blocks_.give_buffer(std::move(message->packed()));
      blocks_.give_buffer(std::move(message->plain()));
    }
  }
}

void ListenerThread::run_resuming() {
  std::vector<uint64_t> calls;
  calls.swap(resuming_);
  for (const uint64_t id : calls) {
    NumberedCall* call = numbered(id);
    if (call != nullptr) call->resume_taking();
  }
}

void ListenerThread::flush_all() {
  flushing_.swap(dirty_);
  for (Connection* connection : flushing_) connection->flush();
  flushing_.clear();
}

// Frees ended connections where none of their functions is on the stack.
void ListenerThread::bury() {
  replaced_.clear();
  while (!dead_.empty()) {
    const std::unique_ptr<Connection> gone(dead_.back());
    Connection* connection = gone.get();
    dead_.pop_back();
    std::erase(dirty_, connection);
    std::erase(unread_, connection);
    std::erase_if(departures_, [&](const Departure& one) { return one.connection == connection; });
    // Closing is not enough: a process that is just being spawned has a copy of the socket, and
    // epoll would go on to report its events with this pointer.
    poller_.remove(connection->channel().socket());
    unlink(connection);
    acceptor_->closed();
    handler_->connected(-1);
  }
}

bool ListenerThread::too_much_unsent() const {
  return shared_.unsent_bytes.load(std::memory_order_relaxed) >
         static_cast<int64_t>(std::min<uint64_t>(settings().unsent_bytes_max, INT64_MAX));
}

uint64_t ListenerThread::stalled_ms() const {
  const uint64_t used = budget()->used(), limit = budget()->limit();
  const bool scarce = used >= limit || limit - used < kScarceBytes;
  return scarce ? settings().idle_ms : settings().stalled_ms;
}

void ListenerThread::unsent_changed(int64_t bytes) {
  constexpr auto kLarge = static_cast<int64_t>(MemoryBudget::kLargeBytes);
  const int64_t before = shared_.unsent_bytes.fetch_add(bytes, std::memory_order_relaxed);
  const bool many_went = bytes < 0 && before / kLarge != (before + bytes) / kLarge;
  if (many_went && shared_.events.trim) shared_.events.trim();
  if (bytes > 0 && unsent_look_ns_ == UINT64_MAX && too_much_unsent()) {
    unsent_look_ns_ = now_ns_ + kSecondNs;
  }
}

void ListenerThread::look_at_unsent() {
  const bool too_many = too_much_unsent();
  each([&](Connection& connection) { connection.look_at_unsent(too_many, now_ns_); });
  unsent_look_ns_ = too_many ? now_ns_ + kSecondNs : UINT64_MAX;
}

void ListenerThread::look_at_certificates() {
  if (shared_.tls == nullptr || index_ != 0) return;
  tls_look_ns_ = now_ns_ + kCertificatesLookNs;
  const bool asked = shared_.reload_asked.exchange(false);
  if (!asked && !shared_.tls->changed()) return;
  Status read = shared_.tls->reload();
  if (!read.ok()) {
    read = make_error(read.error().code,
                      std::string(name_of(settings().serves)) + " " + read.error().message);
  }
  if (shared_.events.certificates) shared_.events.certificates(read);
}

void ListenerThread::close_doors() {
  // The doors stay in the list: events of this turn may refer to them.
  for (const auto& door : doors_) poller_.remove(door->socket);
}

void ListenerThread::begin_drain() {
  draining_ = true;
  close_doors();
  keep_departures();
  take_arrivals(true);
  each([](Connection& connection) { connection.retire(true); });
  look_ns_ = now_ns_;
}

void ListenerThread::look_at_drain() {
  if (drain_ended_) return;
  // Those that wait for a later turn may have received requests.
  auto waiting = static_cast<uint32_t>(unread_.size());
  each([&](const Connection& connection) { waiting += connection.waiting_calls(); });
  each([&](Connection& connection) { connection.look(waiting == 0, now_ns_); });
  if (now_ns_ >= drain_until_ns_.load()) cut_all();
  bury();
  look_ns_ = std::min(now_ns_ + kDrainLookNs, std::max(drain_until_ns_.load(), now_ns_ + kNsPerMs));
  if (connections_ == nullptr) end_drain();
}

void ListenerThread::cut_all() {
  if (draining_ && !drain_ended_) handler_->cutting();
  each([this](Connection& connection) {
    if (!connection.is_dead()) shared_.cut.fetch_add(connection.cut());
  });
}

void ListenerThread::end_drain() {
  drain_ended_ = true;
  look_ns_ = UINT64_MAX;
  if (shared_.threads_left.fetch_sub(1) == 1 && shared_.drained)
    shared_.drained(shared_.cut.load());
}

}  // namespace serval
