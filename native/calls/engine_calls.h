// Answers the calls of one listener's thread: native methods by the engine, through a lane of the
// thread's own; the others by way of the bridge. Hot path; that thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "calls/bridge.h"
#include "calls/infer_stream.h"
#include "calls/methods.h"
#include "engine/lane/lane.h"
#include "transport/call.h"

namespace serval {

class EngineCalls final : public CallHandler, public LaneHooks {
 public:
  // Borrows all but the engine until it goes.
  EngineCalls(CallThread& thread, std::shared_ptr<Engine> engine, const ServeSettings& settings,
              const MethodTable& methods, Bridge& bridge);
  ~EngineCalls() override;

  std::optional<MethodKind> find(std::string_view path) override { return methods_.find(path); }
  void begin(Call& call) override;
  void message(Call& call, Received message) override;
  void half_closed(Call& call) override;
  void closed(Call& call) override;
  void failed(const Failed& failed) override;
  void connected(int change) override;
  void left(Call& call, size_t messages) override;
  void turn_ended() override;
  void woken() override;
  void draining(Call& call) override;
  void cutting() override;

 private:
  // Who waits for the answer of a request in a slot of the lane.
  struct Waiting {
    uint64_t call = 0;    // 0 = nobody
    uint64_t number = 0;  // of a stream's request
  };
  // A forwarded stream.
  struct Forwarded {
    bool paused_by_handler = false;
    bool waits_for_take = false;
  };

  // LaneHooks
  void wake() override { thread_.wake(); }
  void* pin() override { return nullptr; }
  void unpin(void*) override {}
  void drop_kept() override { thread_.drop_kept(); }
  bool ends_turns() override { return true; }

  // Null when the lane has closed: then nothing is counted or logged any more.
  Engine* engine() const { return lane_->shared_engine().get(); }
  const CallMethod& method_of(const Call& call) const { return methods_.at(call.method()); }
  bool is_native(const Call& call) const { return method_of(call).protocol.has_value(); }
  void infer(Call& call, Received message);
  Answer ask(Call& call, Received message, bool first);
  void infer_streamed(Call& call, Received message);
  void wait_for(uint32_t ticket, uint64_t call, uint64_t number);
  // Answers a call from what the engine left in `out`.
  void answer(Call& call, Request& out, ErrorCode code);
  void answer_streamed(Call& call, uint64_t number, Request& out, ErrorCode code);
  void fail(Call& call, ErrorCode code, std::string_view text);
  // Ends a call that the access log has no line of yet.
  void finish(Call& call, int code, std::string_view message);
  void explain(Call& call, const Request& out, ErrorCode code);
  void take_completed();
  void forward(Call& call, ListenerEvent kind, uint32_t value = 0,
               std::span<const uint8_t> payload = {});
  void open(Call& call);
  void tell_closed(uint64_t call);
  void go_on_telling();
  void obey(const Bridge::Command& command);
  void explained(Call& call, const Bridge::Command& command);
  void go_on_reading();
  void cancel(uint32_t ticket);
  void drop_stream(Call& call);
  void note_stream(uint64_t call);
  void end_revoked();

  CallThread& thread_;
  const MethodTable& methods_;
  Bridge& bridge_;
  AccessView access_;
  std::shared_ptr<Lane> lane_;
  std::vector<Waiting> waiting_;  // by slot
  std::unordered_map<uint64_t, Forwarded> forwarded_;
  std::vector<uint64_t> waits_for_take_;
  std::vector<Bridge::Command> commands_;
  uint64_t seen_taken_ = 0;
  std::vector<uint64_t> streams_;  // open ones, and some that have ended
  size_t streams_kept_ = 0;        // of them when ended ones were last removed
  std::vector<uint64_t> untold_;   // calls that are gone, for whose Closed there was no memory
};

}  // namespace serval
