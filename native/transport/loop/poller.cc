// Wraps epoll and an eventfd. Hot path; the listener's thread.
#include "transport/loop/poller.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"

namespace serval {

namespace {

// Whole milliseconds, rounded up: waking too early means waking twice.
int wait_ms(uint64_t until_ns) {
  if (until_ns == UINT64_MAX) return -1;
  if (until_ns == 0) return 0;
  const uint64_t now = now_ns();
  if (until_ns <= now) return 0;
  constexpr uint64_t kLongest = 3'600'000;
  return static_cast<int>(std::min((until_ns - now + kNsPerMs - 1) / kNsPerMs, kLongest));
}

}  // namespace

Poller::Poller()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (ok()) add(event_, EPOLLIN, this);
}

Poller::~Poller() {
  if (event_ >= 0) close(event_);
  if (epoll_ >= 0) close(epoll_);
}

bool Poller::add(int descriptor, uint32_t events, void* tag) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Poller::change(int descriptor, uint32_t events, void* tag) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event);
}

void Poller::remove(int descriptor) { epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr); }

void Poller::wake() {
  if (wake_asked_.exchange(true, std::memory_order_acq_rel)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_, &one, sizeof one);
}

std::span<const epoll_event> Poller::wait(uint64_t until_ns, bool& woken) {
  woken = false;
  const int count = epoll_wait(epoll_, events_.data(), kEventsMax, wait_ms(until_ns));
  size_t kept = 0;
  for (int i = 0; i < count; ++i) {
    if (events_[i].data.ptr != this) {
      events_[kept++] = events_[i];
      continue;
    }
    uint64_t number = 0;
    [[maybe_unused]] const ssize_t taken = read(event_, &number, sizeof number);
    wake_asked_.store(false, std::memory_order_release);
    woken = true;
  }
  return {events_.data(), kept};
}

}  // namespace serval
