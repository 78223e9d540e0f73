// The threads of a listener: starts them, adds more while they are busy, and decides where
// connections are served. Control plane, except place() and balance(), which the threads call.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "transport/growth/free_cores.h"
#include "transport/growth/policy.h"
#include "transport/listener.h"

namespace serval {

class ListenerThread;
struct SharedListener;

class ListenerThreads {
 public:
  // Borrows `shared` until it is destroyed.
  ListenerThreads(SharedListener& shared, TransportListener::MakeHandler make_handler);
  // Cuts all connections and joins the threads.
  ~ListenerThreads();

  // Starts the threads that the settings state. Errors: internal.
  Status start();
  // Drains all threads; no more are added.
  void drain(uint64_t until_ns);
  void wake();
  uint32_t count() const { return count_.load(std::memory_order_acquire); }

  // Any of the threads: returns the thread that serves a new connection. While threads are added on
  // demand, only the first thread accepts: the port stays closed to other processes (a socket for
  // each thread would need SO_REUSEPORT), no client waits in the queue of a busy thread, and the
  // load decides instead of a hash of the client's address. An accept and a hand-over take some
  // microseconds.
  ListenerThread& place(ListenerThread& accepting);
  // The thread `busy`, at the end of an interval in which it was busy: adds a thread or moves
  // connections if that helps.
  void balance(ListenerThread& busy, uint32_t busy_intervals);

 private:
  Status start_one(bool waits);
  // Moves connections to another thread. False: none would help.
  bool move_to(ListenerThread& busy, uint32_t target, uint32_t load_there);
  void add(ListenerThread& busy, double free_cores);

  SharedListener& shared_;
  const TransportListener::MakeHandler make_handler_;
  // Null from count_ on; an entry does not change once it is set.
  std::vector<std::unique_ptr<ListenerThread>> threads_;
  std::atomic<uint32_t> count_{0};
  std::mutex mutex_;     // guards the members below, and starting
  bool closed_ = false;  // no more threads are added
  FreeCores free_cores_;
  uint64_t changed_ns_ = 0;  // when a thread was added, or connections moved
};

}  // namespace serval
