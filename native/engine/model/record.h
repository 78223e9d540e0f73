// How a request ends in the books: counters, statistics, access log. Hot path, any thread.
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

// As logs call it.
std::string_view protocol_name(Protocol protocol);

// Counts one request, writes it to the access log where it is sampled, and to the tracer.
void record_request(Model& model, const ServedRequest& served);

// Copies a request and its answer for the request log. Of a MultiInferenceRequest: the whole, not
// its tasks.
void log_sampled(Model& model, const ServedRequest& served, std::span<const uint8_t> bytes,
                 int64_t json_bytes, const Request& answered);
// The same where it is sampled.
inline void log_request(Model& model, const ServedRequest& served, std::span<const uint8_t> bytes,
                        int64_t json_bytes, const Request& answered) {
  RequestTap* const tap = model.tap();
  if (tap == nullptr || !tap->sample()) [[likely]]
    return;
  log_sampled(model, served, bytes, json_bytes, answered);
}

// Writes a request to the access log that came to no queue: one of no model that is there, or that
// there was no room for. Counted nowhere.
struct RefusedRequest {
  Protocol protocol;
  std::string_view model, version, id;  // as far as they are known
  size_t request_bytes = 0;
};
void log_refused(AccessLog& log, const RefusedRequest& refused, const Error& error);

// Ends a queued request that was not served alone: stores the outcome in it, records it. Does not
// hand it back. Without `progress` all that it did was to wait.
void end_request(Model& model, Request& request, const Status& status,
                 const Progress* progress = nullptr);

}  // namespace serval
