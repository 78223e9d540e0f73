// Records ended requests: counters, statistics, access log. Hot path, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "engine/model/model.h"
#include "engine/observe/served.h"
#include "engine/request/request.h"
#include "stats/access_log.h"

namespace serval {

// The protocol's name in logs.
std::string_view protocol_name(Protocol protocol);

// Counts one request and writes it to the access log, if it is sampled, and to the tracer.
void record_request(Model& model, const ServedRequest& served);

// Copies a request and its response for the request log. For a MultiInferenceRequest: the whole,
// not its tasks.
void log_sampled(Model& model, const ServedRequest& served, std::span<const uint8_t> bytes,
                 int64_t json_bytes, const Request& answered);
// Does the same if the request is sampled.
inline void log_request(Model& model, const ServedRequest& served, std::span<const uint8_t> bytes,
                        int64_t json_bytes, const Request& answered) {
  RequestTap* const tap = model.tap();
  if (tap == nullptr || !tap->sample()) [[likely]]
    return;
  log_sampled(model, served, bytes, json_bytes, answered);
}

// A request that reached no queue, for the access log: its model does not exist, or there was no
// capacity for it. Not counted anywhere.
struct RefusedRequest {
  Protocol protocol;
  std::string_view model, version, id;  // as far as they are known
  size_t request_bytes = 0;
};
void log_refused(AccessLog& log, const RefusedRequest& refused, const Error& error);

// Ends a queued request that was not served alone: stores the outcome in it, records it. Does not
// hand it back. Without `progress` the request only waited.
void end_request(Model& model, Request& request, const Status& status,
                 const Progress* progress = nullptr);

}  // namespace serval
