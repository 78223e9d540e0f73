// Runs requests on the listener's thread under a watch. Hot path; the listener's thread.
#include "engine/lane/inline_runner.h"

#include <algorithm>
#include <optional>

#include "codec/examples/json.h"
#include "codec/serving/json.h"

namespace serval {

bool runs_inline(Model& model, Protocol protocol, size_t body_bytes, uint64_t flow_requests) {
  const bool fast = model.batch_mode() != BatchMode::On && !model.queue().held() &&
                    model.policy().run_inline(protocol, body_bytes);
  if (!fast || !model.policy().on_device()) return fast;
  return flow_requests >= kAloneRequests && model.queue().idle();
}

InlineRunner::InlineRunner(InlineWatch& watch, const ServeSettings& settings, MemoryBudget* budget)
    : watch_(&watch), settings_(settings), memory_(budget) {
  watch.add(runs_);
}

void InlineRunner::close() {
  if (watch_ != nullptr) watch_->remove(runs_);
  watch_ = nullptr;
}

bool InlineRunner::run(Model& model, ServeInput input, uint64_t queue_ns, uint64_t limit_ns,
                       Request& out) {
  std::optional<Replica::ListenerRun> device;
  if (model.policy().on_device() && !device.emplace(model.replica(0)).begun()) {
    memory_.times = ServeTimes();
    return false;
  }
  input.cancel = input.displace = runs_.flag();
  input.takes_turns = false;
  runs_.begin(*watch_, std::min(limit_ns, model.policy().run_ns_max()));
  const bool served = serve(input, model, 0, queue_ns, settings_, memory_, out);
  runs_.end(*watch_);
  return served;
}

Status InlineRunner::check_unknown(Protocol protocol, std::span<const uint8_t> body) {
  if (protocol == Protocol::V2Rest || body.size() > kUnknownModelBodyMax) return {};
  memory_.decoded.clear();
  Status checked =
      protocol == Protocol::V1Predict
          ? decode_v1_predict(body, {}, settings_, memory_.arena, memory_.decoded)
          : decode_v1_examples(
                body, protocol == Protocol::V1Classify ? Method::Classify : Method::Regress, false,
                {}, settings_, memory_.arena, memory_.decoded);
  memory_.arena.reset();
  return checked;
}

}  // namespace serval
