// Implements the part that gRPC and HTTP listeners share. Hot path; the listener's thread.
#include "calls/lane_calls.h"

#include <array>
#include <utility>

#include "base/bytes/views.h"

namespace serval {

namespace {

constexpr size_t kCompletionsAtOnce = 64;

}  // namespace

LaneCalls::LaneCalls(CallThread& thread, std::shared_ptr<Engine> engine,
                     const ServeSettings& settings, Bridge& bridge)
    : hooks_(thread),
      thread_(thread),
      bridge_(bridge),
      lane_(std::make_shared<Lane>(engine, settings, &hooks_)) {
  engine->add_lane(lane_->home());
  bridge_.attach(thread_.index(), &thread_);
}

LaneCalls::~LaneCalls() {
  bridge_.attach(thread_.index(), nullptr);
  lane_->shared_engine()->remove_lane(*lane_->home());
  lane_->close();
}

void LaneCalls::wait_for(uint32_t ticket, Waiting waiting) {
  const Request* request = lane_->slots().find(ticket);
  if (request == nullptr) return;
  if (waiting_.size() <= request->slot) waiting_.resize(request->slot + 1);
  waiting_[request->slot] = waiting;
}

void LaneCalls::cancel(uint32_t ticket) {
  if (ticket == 0) return;
  const Request* request = lane_->slots().find(ticket);
  if (request != nullptr && request->slot < waiting_.size()) waiting_[request->slot] = {};
  lane_->cancel(ticket);
}

// Hot path: reply (queued).
void LaneCalls::take_completed() {
  std::array<Request*, kCompletionsAtOnce> done;
  for (;;) {
    const size_t count = lane_->take_completed(done);
    for (size_t i = 0; i < count; ++i) {
      Request& request = *done[i];
      const uint32_t ticket = lane_->slots().ticket_of(request);
      const Waiting waiting = request.slot < waiting_.size()
                                  ? std::exchange(waiting_[request.slot], Waiting{})
                                  : Waiting{};
      if (waiting.call != 0) completed(waiting, request);
      lane_->release_taken(ticket);
    }
    if (count == 0 || !lane_->has_completed()) return;
  }
}

void LaneCalls::end_turn() {
  if (lane_->has_unflushed()) lane_->flush();
  if (lane_->has_completed()) take_completed();
}

void LaneCalls::tell_closed(uint64_t call) {
  if (!bridge_.push(ListenerEvent::Closed, thread_.index(), call, 0)) untold_.push_back(call);
}

void LaneCalls::go_on_telling() {
  while (!untold_.empty() &&
         bridge_.push(ListenerEvent::Closed, thread_.index(), untold_.back(), 0)) {
    untold_.pop_back();
  }
}

std::vector<uint64_t> LaneCalls::taken_calls() {
  const uint64_t taken = bridge_.taken();
  if (taken == seen_taken_ || waits_for_take_.empty()) return {};
  seen_taken_ = taken;
  return std::exchange(waits_for_take_, {});
}

void LaneCalls::tell_unanswered() {
  ByteBuffer text;
  if (lane_->unanswered(text)) bridge_.add_unanswered(text_of(text.bytes()));
}

}  // namespace serval
