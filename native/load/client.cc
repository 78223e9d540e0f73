// The client's thread, its event loop, and its requests. Hot path; the load's thread.
#include "load/client.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/clock.h"
#include "base/threads.h"

namespace serval::load {
namespace {

constexpr size_t kRoomBytes = 256 << 10;
constexpr size_t kLookedAt = 32;   // candidates for a call; the one with the fewest calls gets it
constexpr uint32_t kTriesMax = 3;  // of a request that servers leave unread
constexpr size_t kOpeningMax = 8;  // connections being opened while requests wait
constexpr uint64_t kNsPerSecond = 1'000'000'000;

uint64_t thread_ns() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<uint64_t>(spent.tv_sec) * kNsPerSecond + static_cast<uint64_t>(spent.tv_nsec);
}

}  // namespace

Client::Client(Target target, Events events)
    : target_(std::move(target)),
      client_events_(std::move(events)),
      alarm_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      room_(kRoomBytes) {}

bool Client::start() {
  if (alarm_ < 0 || !poller_.ok() || !poller_.add(alarm_, EPOLLIN, &alarm_)) return false;
  return start_thread_in(thread_, [this] { run(); });
}

Client::~Client() {
  {
    const std::lock_guard lock(mutex_);
    order_.close = true;
  }
  poller_.wake();
  if (thread_.joinable()) thread_.join();
  connections_.clear();
  if (alarm_ >= 0) close(alarm_);
}

void Client::prepare(Traffic traffic, const Schedule& schedule) {
  {
    const std::lock_guard lock(mutex_);
    order_.prepare.emplace(std::move(traffic), schedule);
    order_.go.reset();
  }
  poller_.wake();
}

void Client::go(uint64_t begins_ns) {
  {
    const std::lock_guard lock(mutex_);
    order_.go = begins_ns;
  }
  poller_.wake();
}

void Client::run() {
  pthread_setname_np(pthread_self(), "sv-client");
  prctl(PR_SET_TIMERSLACK, 1);
  while (take_order()) {
    turn();
    wait_and_read();
  }
}

// False: the thread ends.
bool Client::take_order() {
  Order order;
  {
    const std::lock_guard lock(mutex_);
    order = std::exchange(order_, {});
  }
  if (order.close) return false;
  if (order.prepare) begin_prepare(std::move(order.prepare->first), order.prepare->second);
  if (order.go && usable_ && loop_ == nullptr) {
    loop_ = std::make_unique<Loop>(schedule_, *order.go, *this);
    busy_ns_ = 0;
    measuring_ = false;
  }
  return true;
}

// Does the work that is due by the clock.
void Client::turn() {
  const uint64_t now = now_ns();
  gone_.clear();
  open_missing(now);
  if (preparing_) check_prepared();
  if (loop_ == nullptr) return;
  note_busy(now);
  end_late(now);
  pump();
  finish_if_over(now);
}

void Client::wait_and_read() {
  uint64_t until_ns = std::min(limits_.next_ns(), open_again_ns_);
  if (preparing_) until_ns = std::min(until_ns, prepare_until_ns_);
  if (loop_ != nullptr) until_ns = std::min(until_ns, loop_->next_ns(now_ns()));
  const bool spins = loop_ != nullptr && schedule_.spins;
  if (!spins) set_alarm(until_ns);
  bool woken = false;
  for (const epoll_event& event : poller_.wait(spins ? 0 : UINT64_MAX, woken)) {
    if (event.data.ptr == &alarm_) {
      uint64_t times = 0;
      [[maybe_unused]] const ssize_t taken = ::read(alarm_, &times, sizeof times);
      alarm_ns_ = UINT64_MAX;
      continue;
    }
    serve(*static_cast<Connection*>(event.data.ptr));
  }
}

// epoll waits for whole milliseconds, which is longer than small models need.
void Client::set_alarm(uint64_t until_ns) {
  if (until_ns == alarm_ns_) return;
  alarm_ns_ = until_ns;
  itimerspec when{};
  if (until_ns != UINT64_MAX) {
    const uint64_t at_ns = std::max<uint64_t>(until_ns, 1);
    when.it_value.tv_sec = static_cast<time_t>(at_ns / kNsPerSecond);
    when.it_value.tv_nsec = static_cast<long>(at_ns % kNsPerSecond);
  }
  timerfd_settime(alarm_, TFD_TIMER_ABSTIME, &when, nullptr);
}

// Sends the requests that follow from the received responses before it reads another connection.
void Client::serve(Connection& connection) {
  if (connection.gone) return;
  connection.advance(room_);
  has_room(connection);
  if (loop_ != nullptr) pump();
  settle(connection);
}

void Client::pump() {
  const uint64_t now = now_ns();
  for (Call* const call : again_) {
    call->due_ns = now;
    call->idle = false;
    loop_->sent_again();
    if (!call->connection->problem().empty()) continue;
    call->connection->send_again(*call);
    if (schedule_.timeout_ns > 0) limits_.set(call->limit, now + schedule_.timeout_ns);
    if (!std::exchange(call->connection->flush_wanted, true)) to_flush_.push_back(call->connection);
  }
  again_.clear();
  while (!unread_.empty() && free()) {
    const Unread request = unread_.back();
    unread_.pop_back();
    send_on_best(request.due_ns, request.tries + 1);
  }
  loop_->pump(now);
  flush_all();
}

void Client::flush_all() {
  while (!to_flush_.empty()) {
    std::swap(to_flush_, flushed_);
    for (Connection* const connection : flushed_) connection->flush_wanted = false;
    for (Connection* const connection : flushed_) {
      if (!connection->gone) connection->flush();
    }
    for (size_t i = 0; i < flushed_.size(); ++i) settle(*flushed_[i]);
    flushed_.clear();
  }
}

// Ends requests that have no response within the limit.
void Client::end_late(uint64_t now) {
  while (TimerNode* const node = limits_.take(now)) {
    Call& call = *reinterpret_cast<Call*>(node);
    Connection& connection = *call.connection;
    connection.give_up(call);
    free_calls_.push_back(&call);
    char text[64];
    std::snprintf(text, sizeof text, "no response within %.1f s",
                  static_cast<double>(schedule_.timeout_ns) / 1e9);
    loop_->failed(call.due_ns, now, Failure::Late, text);
    has_room(connection);
    if (!std::exchange(connection.flush_wanted, true)) to_flush_.push_back(&connection);
    flush_all();
    settle(connection);
  }
}

// Records the processor time used in the measured period.
void Client::note_busy(uint64_t now) {
  if (!measuring_ && now >= loop_->measured_ns() && now < loop_->ends_ns()) {
    measuring_ = true;
    busy_from_ns_ = thread_ns();
  } else if (measuring_ && now >= loop_->ends_ns()) {
    measuring_ = false;
    busy_ns_ = thread_ns() - busy_from_ns_;
  }
}

void Client::finish_if_over(uint64_t now) {
  if (!loop_->over(now)) return;
  Measured result = loop_->finish();
  if (schedule_.measure_ns > 0) {
    result.busy = static_cast<double>(busy_ns_) / static_cast<double>(schedule_.measure_ns);
  }
  loop_.reset();
  if (schedule_.requests == 0) cut();
  client_events_.done(std::move(result));
}

Call& Client::take_call() {
  if (free_calls_.empty()) return calls_.emplace_back();
  Call& call = *free_calls_.back();
  free_calls_.pop_back();
  return call;
}

bool Client::free() {
  if (!ready_.empty()) return true;
  // HTTP/1: opens another connection, up to the maximum.
  const bool may_open = opening_ < kOpeningMax && wanted_ < schedule_.connections_max;
  if (may_open && connections_.size() >= wanted_) {
    ++wanted_;
    if (open_again_ns_ == UINT64_MAX) open_again_ns_ = 0;
  }
  return false;
}

void Client::send(uint64_t due_ns) { send_on_best(due_ns, 1); }

// Uses the connection with the fewest calls among the next ones in turn.
void Client::send_on_best(uint64_t due_ns, uint32_t tries) {
  const size_t count = std::min(ready_.size(), kLookedAt);
  Connection* best = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (turn_ >= ready_.size()) turn_ = 0;
    Connection* const each = ready_[turn_++];
    if (best == nullptr || each->in_flight() < best->in_flight()) best = each;
    if (best->in_flight() == 0) break;
  }
  Call& call = take_call();
  call.due_ns = due_ns;
  call.idle = false;
  call.tries = tries;
  call.body = next_body_;
  next_body_ = next_body_ + 1 == prepared_->traffic.bodies.size() ? 0 : next_body_ + 1;
  best->begin(call);
  if (schedule_.timeout_ns > 0) limits_.set(call.limit, now_ns() + schedule_.timeout_ns);
  if (best->room() == 0) take_ready(*best);
  if (!std::exchange(best->flush_wanted, true)) to_flush_.push_back(best);
}

void Client::has_room(Connection& connection) {
  if (connection.room() > 0) put_ready(connection);
  else take_ready(connection);
}

void Client::answered(Call& call, uint64_t response_bytes) {
  limits_.clear(call.limit);
  answered_once_ = true;
  const bool streams = prepared_->traffic.judged == Judged::GrpcStream;
  if (!streams) free_calls_.push_back(&call);
  if (loop_ == nullptr) return;
  const uint64_t now = now_ns();
  loop_->answered(call.due_ns, now, response_bytes);
  call.idle = streams;
  if (streams && loop_->goes_on(now)) again_.push_back(&call);
}

void Client::failed(Call& call, Failure kind, std::string_view error) {
  limits_.clear(call.limit);
  free_calls_.push_back(&call);
  if (loop_ != nullptr && !call.idle) loop_->failed(call.due_ns, now_ns(), kind, error);
}

void Client::unread(Call& call, std::string_view error) {
  if (loop_ == nullptr || call.tries >= kTriesMax) return failed(call, Failure::Reset, error);
  limits_.clear(call.limit);
  free_calls_.push_back(&call);
  unread_.push_back({call.due_ns, call.tries});
}

void Client::put_ready(Connection& connection) {
  if (connection.ready_place != SIZE_MAX) return;
  connection.ready_place = ready_.size();
  ready_.push_back(&connection);
}

void Client::take_ready(Connection& connection) {
  const size_t place = std::exchange(connection.ready_place, SIZE_MAX);
  if (place == SIZE_MAX) return;
  ready_[place] = ready_.back();
  ready_[place]->ready_place = place;
  ready_.pop_back();
  connection.ready_place = SIZE_MAX;
}

}  // namespace serval::load
