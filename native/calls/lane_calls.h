// A listener's thread between a lane of the engine and the bridge to JavaScript, whatever is
// spoken: who waits for which request, events that had no memory, the end of a turn. Hot path; that
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "calls/bridge.h"
#include "engine/lane/lane.h"
#include "transport/call.h"

namespace serval {

class LaneCalls {
 protected:
  // The call that waits for the answer of a request in a slot of the lane.
  struct Waiting {
    uint64_t call = 0;    // 0 = nobody
    uint64_t number = 0;  // of a stream's request
  };

  // Borrows all but the engine until it goes.
  LaneCalls(CallThread& thread, std::shared_ptr<Engine> engine, const ServeSettings& settings,
            Bridge& bridge);
  ~LaneCalls();
  LaneCalls(const LaneCalls&) = delete;
  LaneCalls& operator=(const LaneCalls&) = delete;

  // Null when the lane has closed: then nothing is counted or logged any more.
  Engine* engine() const { return lane_->shared_engine().get(); }
  // A request has come to its end; `request` is valid until return.
  virtual void completed(const Waiting& waiting, Request& request) = 0;

  void wait_for(uint32_t ticket, Waiting waiting);
  // The engine ends the request; 0 = none.
  void cancel(uint32_t ticket);
  void take_completed();
  // What was queued in a turn is made known.
  void end_turn();
  // JavaScript keeps a call until it hears of its end: tried again if there is no memory now.
  void tell_closed(uint64_t call);
  void go_on_telling();
  // Calls whose input may go on, since their events were taken; usually none.
  std::vector<uint64_t> taken_calls();
  // Tells the models of requests that a drain is about to cut.
  void tell_unanswered();

 private:
  // Its own object: other threads call it while ours is made and while it goes.
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
  std::vector<uint64_t> waits_for_take_;  // calls whose events JavaScript has not taken
  std::vector<Bridge::Command> commands_;

 private:
  std::vector<Waiting> waiting_;  // by slot
  std::vector<uint64_t> untold_;  // calls that are gone, for whose Closed there was no memory
  uint64_t seen_taken_ = 0;
};

}  // namespace serval
