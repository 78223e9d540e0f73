// Waits for sockets, other threads and timers. Hot path; the listener's thread, except wake().
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

  // False: the process had no descriptors left.
  bool ok() const { return epoll_ >= 0 && event_ >= 0; }
  // Level-triggered; the event's data holds `tag`. False: the system refused.
  bool add(int descriptor, uint32_t events, void* tag);
  void change(int descriptor, uint32_t events, void* tag);
  void remove(int descriptor);

  // Any thread: ends the current wait, or the next one.
  void wake();
  // Waits until `until_ns` of now_ns()'s clock at most (UINT64_MAX = without a limit, 0 = only
  // polls). `woken` says whether wake() was called. The events are valid until the next call.
  std::span<const epoll_event> wait(uint64_t until_ns, bool& woken);

 private:
  static constexpr size_t kEventsMax = 256;
  int epoll_;
  int event_;
  std::atomic<bool> wake_asked_{false};
  std::array<epoll_event, kEventsMax> events_;
};

}  // namespace serval
