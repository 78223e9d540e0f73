// Answers the calls of one listener's thread: native methods with the engine, through the thread's
// own lane; the others through the bridge. Hot path; that thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "calls/infer_stream.h"
#include "calls/lane_calls.h"
#include "calls/methods.h"
#include "transport/call.h"

namespace serval {

class EngineCalls final : public CallHandler, private LaneCalls {
 public:
  // Borrows everything except the engine, for its lifetime.
  EngineCalls(CallThread& thread, std::shared_ptr<Engine> engine, const ServeSettings& settings,
              const MethodTable& methods, Bridge& bridge);

  std::optional<MethodKind> find(std::string_view path) override { return methods_.find(path); }
  void begin(Call& call) override;
  void message(Call& call, Received message) override;
  void half_closed(Call& call) override;
  void closed(Call& call) override;
  void failed(const Failed& failed) override;
  void connected(int change) override;
  void left(Call& call, size_t messages) override;
  void turn_ended() override { end_turn(); }
  void woken() override;
  void draining(Call& call) override;
  void cutting() override { tell_unanswered(); }

 private:
  // A forwarded stream.
  struct Forwarded {
    bool paused_by_handler = false;
    bool waits_for_take = false;
  };

  void completed(const Waiting& waiting, Request& request) override;
  const CallMethod& method_of(const Call& call) const { return methods_.at(call.method()); }
  bool is_native(const Call& call) const { return method_of(call).protocol.has_value(); }
  void infer(Call& call, Received message);
  Answer ask(Call& call, Received message, bool first);
  void infer_streamed(Call& call, Received message);
  // Answers a call with what the engine left in `out`.
  void answer(Call& call, Request& out, ErrorCode code);
  void answer_streamed(Call& call, uint64_t number, Request& out, ErrorCode code);
  void fail(Call& call, ErrorCode code, std::string_view text);
  // Ends a call that is not in the access log yet.
  void finish(Call& call, int code, std::string_view message);
  std::optional<MissingWords> words_here(Call& call, const Request& out) const;
  bool reply_here(Call& call, Request& out) const;
  void explain(Call& call, const Request& out, ErrorCode code);
  void forward(Call& call, ListenerEvent kind, uint32_t value = 0,
               std::span<const uint8_t> payload = {});
  void open(Call& call);
  void obey(const Bridge::Command& command);
  void explained(Call& call, const Bridge::Command& command);
  void go_on_reading();
  void drop_stream(Call& call);
  void note_stream(uint64_t call);
  void end_revoked();

  const MethodTable& methods_;
  AccessView access_;
  std::unordered_map<uint64_t, Forwarded> forwarded_;
  std::vector<uint64_t> streams_;  // open streams, and some that have ended
  size_t streams_kept_ = 0;        // the size of streams_ when ended ones were last removed
};

}  // namespace serval
