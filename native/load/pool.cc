// The client's connections (client.h): how they are opened, lost and replaced. The load's thread.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "load/client.h"

namespace serval::load {
namespace {

constexpr uint64_t kConnectNsMax = 10'000'000'000;
constexpr uint64_t kAgainNs = 20'000'000;  // pause after a failed connection attempt
constexpr size_t kPoolOpeningMax = 128;    // at once; a server's accept queue is short

std::string place_of(const Target& target) {
  if (!target.unix_path.empty()) return target.unix_path;
  return target.host + ":" + std::to_string(target.port);
}

}  // namespace

void Client::begin_prepare(Traffic traffic, const Schedule& schedule) {
  loop_.reset();
  usable_ = false;
  // Replaces connections that still hold bytes of the previous traffic.
  cut();
  auto prepared = std::make_unique<Prepared>(target_, std::move(traffic));
  for (const auto& connection : connections_) connection->use(*prepared);
  std::swap(prepared_, prepared);
  schedule_ = schedule;
  next_body_ = 0;
  wanted_ = std::max<size_t>(schedule.connections, 1);
  while (connections_.size() > wanted_) forget(*connections_.back());
  preparing_ = true;
  answered_once_ = false;
  open_again_ns_ = 0;
  prepare_until_ns_ = now_ns() + kConnectNsMax;
  std::string why;
  if (addresses_.empty()) addresses_ = addresses_of(target_, why);
  if (target_.tls && tls_ == nullptr && why.empty()) {
    Result<std::unique_ptr<TlsClient>> made = TlsClient::make(target_);
    if (made.ok()) tls_ = std::move(made.value());
    else why = made.error().message;
  }
  if (!why.empty()) end_prepare(std::move(why));
}

void Client::check_prepared() {
  const auto is_open = [](const auto& connection) { return connection->was_open(); };
  const bool all = std::all_of(connections_.begin(), connections_.end(), is_open);
  if (all && connections_.size() >= wanted_) return end_prepare("");
  if (now_ns() >= prepare_until_ns_) {
    end_prepare("none within " + std::to_string(kConnectNsMax / 1'000'000'000) + " s");
  }
}

void Client::end_prepare(std::string problem) {
  preparing_ = false;
  usable_ = problem.empty();
  if (!usable_) {
    wanted_ = 0;
    while (!connections_.empty()) forget(*connections_.back());
    problem = place_of(target_) + ": no connection: " + problem;
  }
  client_events_.prepared(std::move(problem));
}

void Client::open_missing(uint64_t now) {
  if (now < open_again_ns_) return;
  open_again_ns_ = UINT64_MAX;
  while (connections_.size() < wanted_ && opening_ < kPoolOpeningMax) {
    if (!open_one()) return;
  }
}

// False: not now, or never.
bool Client::open_one() {
  std::string why;
  const int socket = begin_connect(addresses_[address_], why);
  if (socket < 0) {
    open_again_ns_ = now_ns() + kAgainNs;
    if (preparing_ && !why.empty()) end_prepare(std::move(why));
    return false;
  }
  auto made = target_.protocol == Protocol::Http2
                  ? http2_connection(socket, tls_.get(), *prepared_, *this)
                  : http1_connection(socket, tls_.get(), *prepared_, *this);
  made->address = address_;
  made->watched = EPOLLIN | EPOLLOUT;
  poller_.add(socket, made->watched, made.get());
  connections_.push_back(std::move(made));
  ++opening_;
  return true;
}

void Client::watch(Connection& connection) {
  const uint32_t events = EPOLLIN | (connection.wants_write() ? EPOLLOUT : 0u);
  if (events == connection.watched) return;
  connection.watched = events;
  poller_.change(connection.socket(), events, &connection);
}

// Called after an event: counts a connection that has opened, replaces one that ended.
void Client::settle(Connection& connection) {
  if (connection.gone) return;
  if (connection.was_open() && !std::exchange(connection.counted_open, true)) {
    --opening_;
    if (connections_.size() < wanted_) open_again_ns_ = std::min(open_again_ns_, now_ns());
  }
  if (!connection.problem().empty()) return lost(connection);
  if (connection.is_going()) {
    take_ready(connection);
    if (connection.in_flight() == 0) return lost(connection);
  }
  watch(connection);
}

void Client::lost(Connection& connection) {
  const bool was_open = connection.was_open();
  const bool next_address =
      !was_open && preparing_ && connection.address == address_ && address_ + 1 < addresses_.size();
  const std::string why = connection.problem();
  for (Call* const call : connection.take_calls()) failed(*call, Failure::Lost, why);
  again_.erase(std::remove_if(again_.begin(), again_.end(),
                              [&](const Call* call) { return call->connection == &connection; }),
               again_.end());
  const bool same_address = connection.address == address_;
  forget(connection);
  if (next_address) {
    ++address_;
  } else if (!was_open && preparing_ && same_address) {
    return end_prepare(why);
  }
  // A connection that worked is replaced at once; an unreachable server is retried later.
  const bool at_once = next_address || !same_address || (was_open && answered_once_);
  open_again_ns_ = at_once ? 0 : now_ns() + kAgainNs;
}

// Closes it; its calls produce no events.
void Client::forget(Connection& connection) {
  take_ready(connection);
  if (!connection.counted_open) --opening_;
  for (Call* const call : connection.take_calls()) {
    limits_.clear(call->limit);
    free_calls_.push_back(call);
  }
  connection.gone = true;
  poller_.remove(connection.socket());
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const auto& each) { return each.get() == &connection; });
  std::swap(*found, connections_.back());
  gone_.push_back(std::move(connections_.back()));
  connections_.pop_back();
}

// Drops the current requests without events, and replaces their connections.
void Client::cut() {
  again_.clear();
  unread_.clear();
  for (size_t i = connections_.size(); i-- > 0;) {
    Connection& connection = *connections_[i];
    if (connection.in_flight() > 0 || connection.has_unwritten()) forget(connection);
  }
  open_again_ns_ = 0;
}

}  // namespace serval::load
