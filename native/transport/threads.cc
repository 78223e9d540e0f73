// Starts, drains and stops the threads of a listener, and balances their load.
#include "transport/threads.h"

#include <algorithm>
#include <utility>

#include "transport/growth/meter.h"
#include "transport/loop/thread.h"

namespace serval {

namespace {

// New connections that a thread accepted in an interval: with fewer, another thread would get none.
constexpr uint32_t kAcceptedToShare = 2;

}  // namespace

ListenerThreads::ListenerThreads(SharedListener& shared,
                                 TransportListener::MakeHandler make_handler)
    : shared_(shared),
      make_handler_(std::move(make_handler)),
      threads_(std::max(shared.settings.threads, shared.settings.threads_max)),
      free_cores_(shared.settings.cores) {}

ListenerThreads::~ListenerThreads() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  const uint32_t threads = count();
  for (uint32_t i = 0; i < threads; ++i) threads_[i]->stop();
  if (shared_.events.threads_changed) shared_.events.threads_changed(-int64_t{threads});
}

Status ListenerThreads::start() {
  std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < shared_.settings.threads; ++i) {
    if (Status started = start_one(true); !started.ok()) return started;
  }
  return {};
}

// Requires the lock. `waits`: for the thread's handler.
Status ListenerThreads::start_one(bool waits) {
  const uint32_t index = count();
  auto thread = std::make_unique<ListenerThread>(shared_, index, make_handler_);
  if (Status started = thread->start(waits); !started.ok()) return started;
  threads_[index] = std::move(thread);
  count_.store(index + 1, std::memory_order_release);
  if (shared_.events.threads_changed) shared_.events.threads_changed(1);
  return {};
}

void ListenerThreads::drain(uint64_t until_ns) {
  std::lock_guard lock(mutex_);
  closed_ = true;
  shared_.threads_left.store(count());
  shared_.sockets.stop();
  for (uint32_t i = 0; i < count(); ++i) threads_[i]->drain(until_ns);
}

void ListenerThreads::wake() {
  for (uint32_t i = 0; i < count(); ++i) threads_[i]->wake();
}

ListenerThread& ListenerThreads::place(ListenerThread& accepting) {
  const uint32_t threads = count();
  if (threads == 1) return accepting;
  std::vector<ThreadPlace> places(threads);
  for (uint32_t i = 0; i < threads; ++i) {
    places[i] = {threads_[i]->load(), threads_[i]->connection_count()};
  }
  return *threads_[thread_for_connection(places)];
}

void ListenerThreads::balance(ListenerThread& busy, uint32_t busy_intervals) {
  // Another thread that decides at this moment changes the loads.
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || closed_) return;
  const uint64_t now_ns = busy.now();
  const std::optional<double> free_cores = free_cores_.read(now_ns);
  if (now_ns - changed_ns_ < kBusyIntervals * LoadMeter::kIntervalNs) return;
  const uint32_t threads = count();
  std::vector<uint32_t> loads(threads);
  for (uint32_t i = 0; i < threads; ++i) loads[i] = threads_[i]->load();
  const BalanceStep step =
      next_step({loads, busy.index(), busy_intervals, static_cast<uint32_t>(threads_.size()),
                 free_cores.value_or(0)});
  switch (step.kind) {
    case BalanceStep::Kind::Stay: return;
    case BalanceStep::Kind::Move:
      if (move_to(busy, step.target, loads[step.target])) changed_ns_ = now_ns;
      return;
    case BalanceStep::Kind::Add: break;
  }
  if (busy.accepted() < kAcceptedToShare && busy.movable(0).empty()) return;
  changed_ns_ = now_ns;
  add(busy, *free_cores);
}

bool ListenerThreads::move_to(ListenerThread& busy, uint32_t target, uint32_t load_there) {
  std::vector<Connection*> moved = busy.movable(load_there);
  if (moved.empty()) return false;
  busy.send_away(std::move(moved), *threads_[target]);
  return true;
}

// A thread that cannot be started is not missed: the others continue.
void ListenerThreads::add(ListenerThread& busy, double free_cores) {
  const uint32_t index = count();
  if (!start_one(false).ok()) return;
  (void)move_to(busy, index, 0);
  if (shared_.events.thread_added)
    shared_.events.thread_added({index + 1, busy.load(), free_cores});
}

}  // namespace serval
