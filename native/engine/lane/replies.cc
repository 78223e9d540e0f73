// Immediate errors. Hot path (errors); the listener's thread.
#include "engine/lane/replies.h"

#include <string>

#include "codec/serving/wire.h"
#include "codec/v2/wire.h"
#include "engine/model/record.h"
#include "engine/request/outcome.h"

namespace serval {

Answer ErrorReplies::answer_closed() {
  return answer({}, make_error(ErrorCode::Internal, "infer on a closed ticket"));
}

Answer ErrorReplies::answer(const Arrival& arrival, const Error& error, uint32_t handle) {
  log(arrival, error, handle);
  traces_.drop();
  traces_.drop_parent();
  store_error(arrival.protocol, arrival.bytes, error, state_.slots.first());
  return {state_.slots.first().code, false, 0};
}

void ErrorReplies::log(const Arrival& arrival, const Error& error, uint32_t handle) {
  state_.engine->server_stats().refused(error.code);
  AccessLog& log = state_.engine->access_log();
  if (!log.is_on() || (handle == 0 && !is_message(arrival.protocol))) return;
  RefusedRequest refused{arrival.protocol, {}, {}, {}, arrival.bytes.size()};
  const std::shared_ptr<Model>* model = state_.published().find(handle);
  std::string version;
  WireModelRef ref;
  TfModelRef tf;
  if (model != nullptr) {
    refused.model = (*model)->spec().name;
    refused.version = (*model)->version_text();
  } else if (arrival.protocol == Protocol::TfMultiInference) {
    // The tasks name the model.
  } else if (is_tf_message(arrival.protocol)) {
    if (peek_tf(arrival.bytes, tf).ok()) refused.model = tf.name;
    if (tf.has_version) refused.version = version = std::to_string(tf.version);
  } else if (is_message(arrival.protocol) && peek_wire_v2(arrival.bytes, ref).ok()) {
    refused.model = ref.name;
    refused.version = ref.version;
    refused.id = ref.id;
  }
  log_refused(log, refused, error);
}

}  // namespace serval
