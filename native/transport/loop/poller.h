// Waiting for sockets, for other threads, and for a time. Hot path; the listener's thread, but
// wake().
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

namespace serval {

class Poller {
 public:
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // False where the process has no descriptors left for it.
  bool ok() const { return epoll_ >= 0 && event_ >= 0; }
  // Level-triggered; `tag` comes back in the event's data. False where the system refuses.
  bool add(int descriptor, uint32_t events, void* tag);
  void change(int descriptor, uint32_t events, void* tag);
  void remove(int descriptor);

  // Any thread: ends the wait under way or the next one.
  void wake();
  // Waits until `until_ns` of now_ns()'s clock at most (UINT64_MAX = for good, 0 = not at all).
  // `woken` says whether wake() was called. The events are valid until the next call.
  std::span<const epoll_event> wait(uint64_t until_ns, bool& woken);

 private:
  static constexpr size_t kEventsMax = 256;
  int epoll_;
  int event_;
  std::atomic<bool> wake_asked_{false};
  std::array<epoll_event, kEventsMax> events_;
};

}  // namespace serval
