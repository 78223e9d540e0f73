// Connects a listener's thread, for any protocol, to a lane of the engine and to the bridge to
// JavaScript: maps requests to waiting calls, retries events that found no memory, ends turns. Hot
// path; that thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "calls/bridge.h"
#include "engine/lane/lane.h"
#include "transport/call.h"

namespace serval {

// The response header with Request::load_wait_ms(), if that is not 0.
inline constexpr std::string_view kLoadWaitHeader = "serval-load-wait-ms";

class LaneCalls {
 protected:
  // The call that waits for the request in a slot of the lane.
  struct Waiting {
    uint64_t call = 0;    // 0 = none
    uint64_t number = 0;  // number of a stream's request
  };

  // Borrows everything except the engine, for its lifetime.
  LaneCalls(CallThread& thread, std::shared_ptr<Engine> engine, const ServeSettings& settings,
            Bridge& bridge);
  ~LaneCalls();
  LaneCalls(const LaneCalls&) = delete;
  LaneCalls& operator=(const LaneCalls&) = delete;

  // Null after the lane has closed: then nothing is counted or logged any more.
  Engine* engine() const { return lane_->shared_engine().get(); }
  // A request has finished; `request` is valid until return.
  virtual void completed(const Waiting& waiting, Request& request) = 0;

  void wait_for(uint32_t ticket, Waiting waiting);
  // Cancels a request in the engine; 0 = none.
  void cancel(uint32_t ticket);
  void take_completed();
  // Flushes the requests that were queued during the turn.
  void end_turn();
  // Tells JavaScript, which keeps the call until then, that it has ended; retried later if there is
  // no memory now.
  void tell_closed(uint64_t call);
  void go_on_telling();
  // Calls whose input may resume because their events were taken; usually none.
  std::vector<uint64_t> taken_calls();
  // Reports the models of requests that a drain is about to cut.
  void tell_unanswered();

 private:
  // A separate object, because other threads call it during our construction and destruction.
  class Hooks final : public LaneHooks {
   public:
    explicit Hooks(CallThread& thread) : thread_(thread) {}
    void wake() override { thread_.wake(); }
    void* pin() override { return nullptr; }
    void unpin(void*) override {}
    void drop_kept() override { thread_.drop_kept(); }
    bool ends_turns() override { return true; }

   private:
    CallThread& thread_;
  };
  Hooks hooks_;

 protected:
  CallThread& thread_;
  Bridge& bridge_;
  std::shared_ptr<Lane> lane_;
  std::vector<uint64_t> waits_for_take_;  // calls whose events JavaScript has not taken yet
  std::vector<Bridge::Command> commands_;

 private:
  std::vector<Waiting> waiting_;  // by slot
  std::vector<uint64_t> untold_;  // ended calls whose Closed event found no memory
  uint64_t seen_taken_ = 0;
};

}  // namespace serval
