// Moves connections between the threads of a listener: the part of ListenerThread that sends and
// receives them. The thread itself, unless noted.
#include "transport/moving.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "transport/loop/thread.h"
#include "transport/threads.h"

namespace serval {

bool ListenerThread::offer(int socket) {
  connection_count_.fetch_add(1, std::memory_order_relaxed);
  if (arrivals_.add(socket)) {
    poller_.wake();
    return true;
  }
  connection_count_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

bool ListenerThread::offer(std::unique_ptr<Connection>& connection) {
  connection_count_.fetch_add(1, std::memory_order_relaxed);
  if (arrivals_.add(connection)) {
    poller_.wake();
    return true;
  }
  connection_count_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void ListenerThread::place(int socket) {
  ++accepted_;
  ListenerThread& chosen = shared_.threads->place(*this);
  if (&chosen == this || !chosen.offer(socket)) take(socket);
}

// `is_last`: refuses what would arrive later.
void ListenerThread::take_arrivals(bool is_last) {
  Arrivals::Content content = arrivals_.take(is_last);
  for (const int socket : content.sockets) {
    connection_count_.fetch_sub(1, std::memory_order_relaxed);  // link() counts it
    take(socket);
  }
  for (std::unique_ptr<Connection>& connection : content.connections) {
    connection_count_.fetch_sub(1, std::memory_order_relaxed);
    adopt(std::move(connection));
  }
}

void ListenerThread::adopt(std::unique_ptr<Connection> moved) {
  Connection* connection = moved.release();
  link(connection);
  poller_.add(connection->channel().socket(), EPOLLIN, connection);
  connection->enter_thread(*this);
  // Bytes that TLS has buffered are not signalled by the socket.
  read_again(*connection);
}

std::vector<Connection*> ListenerThread::movable(uint32_t load_there) {
  std::vector<Connection*> candidates, out;
  std::vector<uint64_t> work;
  each([&](Connection& connection) {
    const uint64_t wakes = connection.is_dead() ? 0 : connection.work_of(interval_);
    if (wakes == 0 || now_ns_ < connection.stays_until_ns) return;
    candidates.push_back(&connection);
    work.push_back(wakes);
  });
  for (const size_t index : connections_to_move(work, load(), load_there)) {
    out.push_back(candidates[index]);
  }
  return out;
}

void ListenerThread::send_away(std::vector<Connection*> connections, ListenerThread& target) {
  for (Connection* connection : connections) {
    departures_.push_back({connection, &target, now_ns_ + kHoldNs});
  }
}

// Called when all output of the turn is written.
void ListenerThread::send_departures() {
  std::erase_if(departures_, [this](const Departure& departure) { return depart(departure); });
}

// False: later.
bool ListenerThread::depart(const Departure& departure) {
  Connection& connection = *departure.connection;
  if (connection.is_dead()) return true;
  if (!connection.can_move()) {
    const bool gives_up = now_ns_ >= departure.until_ns;
    connection.hold_reading(!gives_up);
    if (gives_up) connection.stays_until_ns = now_ns_ + kStayNs;
    return gives_up;
  }
  connection.leave_thread();
  poller_.remove(connection.channel().socket());
  std::erase(unread_, &connection);
  connection.set_deferred(false);
  unlink(&connection);
  std::unique_ptr<Connection> moved(&connection);
  if (!departure.target->offer(moved)) adopt(std::move(moved));
  return true;
}

// A drain ends connections where they are.
void ListenerThread::keep_departures() {
  for (const Departure& departure : std::exchange(departures_, {})) {
    if (!departure.connection->is_dead()) departure.connection->hold_reading(false);
  }
}

void ListenerThread::interval_ended() {
  const uint32_t load = meter_.end(now_ns_);
  load_.store(load, std::memory_order_relaxed);
  busy_intervals_ = load >= kBusyLoad ? busy_intervals_ + 1 : 0;
  if (busy_intervals_ > 0 && !draining_ && departures_.empty()) {
    shared_.threads->balance(*this, busy_intervals_);
  }
  ++interval_;
  accepted_ = 0;
}

}  // namespace serval
