// Implements the timeouts of an HTTP/1 connection. Hot path; the listener's thread.
#include <algorithm>
#include <utility>

#include "base/clock.h"

#include "transport/http1/connection.h"
#include "transport/loop/thread.h"

namespace serval {

namespace {

constexpr uint64_t kSilentNsMax = 10'000 * kNsPerMs;
constexpr uint64_t kDrainSilentNs = 1'000 * kNsPerMs;

}  // namespace

uint64_t Http1Connection::next_due() const {
  const TransportSettings& limits = thread_->settings();
  if (waits_to_write() || phase_ == Phase::Body || phase_ == Phase::Chunks) {
    if (paused_ && !answered_ && !waits_to_write()) return UINT64_MAX;
    return std::max(look_ns_, after_ms(moved_ns(), limits.idle_ms));
  }
  if (phase_ == Phase::Closing) return closing_until_ns_;
  if (phase_ == Phase::Waiting) return UINT64_MAX;
  const uint64_t silent_ms = std::min(limits.silent_ms, limits.idle_ms);
  if (head_began_ns_ != 0) return after_ms(head_began_ns_, silent_ms);
  return after_ms(heard_ns_, had_request_ ? limits.idle_ms : silent_ms);
}

// When a byte of the body, or of the response, last moved.
uint64_t Http1Connection::moved_ns() const { return waits_to_write() ? written_ns_ : heard_ns_; }

// Whether to give up on a client that moves nothing; otherwise it is checked again later.
bool Http1Connection::is_stalled(uint64_t now_ns) {
  if (now_ns >= after_ms(moved_ns(), thread_->stalled_ms())) return true;
  look_ns_ = after_ms(now_ns, thread_->settings().idle_ms);
  return false;
}

// A timer that fires early costs nothing: it is set again then.
void Http1Connection::set_timer() {
  DueNode& due = Connection::due_;
  const uint64_t due_ns = next_due();
  if (due_ns == UINT64_MAX) return;
  if (due.place == TimerNode::kOut || due.due_ns > due_ns) thread_->timers().set(due, due_ns);
}

void Http1Connection::due(uint64_t now_ns) {
  if (dead_) return;
  if (now_ns < next_due()) {
    set_timer();
    return;
  }
  if (waits_to_write()) {
    if (is_stalled(now_ns)) die();
  } else if (phase_ == Phase::Closing) {
    die();
  } else if (phase_ == Phase::Head) {
    if (head_began_ns_ != 0) refuse(408, "the head of a request took too long");
    else begin_closing(false);
  } else if (is_stalled(now_ns)) {
    refuse(408, "no data of the body arrived for too long");
  }
  if (!dead_) set_timer();
}

void Http1Connection::retire(bool) {
  if (dead_ || phase_ == Phase::Closing) return;
  // A connected client may still send a request until no response is pending: see look().
  leaving_ = true;
}

void Http1Connection::look(bool idle, uint64_t now_ns) {
  if (dead_) return;
  if (idle && phase_ == Phase::Head && head_began_ns_ == 0) {
    begin_closing(false);
    return;
  }
  if (!idle || seen_at_ns_ == 0 || written_bytes_ != seen_written_) {
    seen_written_ = written_bytes_;
    seen_at_ns_ = now_ns;
  } else if (now_ns - seen_at_ns_ >= kDrainSilentNs) {
    die();
  }
}

void Http1Connection::look_at_unsent(bool too_many, uint64_t now_ns) {
  if (!too_many || unsent_bytes_ == 0 || seen_at_ns_ == 0 || written_bytes_ != seen_written_) {
    seen_written_ = written_bytes_;
    seen_at_ns_ = too_many ? now_ns : 0;
  } else if (now_ns - seen_at_ns_ >= kSilentNsMax) {
    die();
  }
}

}  // namespace serval
