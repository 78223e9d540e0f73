// The trace of the request that arrives: the caller's context, the decision to trace, and the
// context that the response carries. Hot path; the listener's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/model/model.h"
#include "engine/observe/tracer.h"

namespace serval {

class ArrivalTraces {
 public:
  // Borrows the tracer until the lane closes.
  explicit ArrivalTraces(Tracer& tracer) : tracer_(tracer) {}

  // The trace headers of the next request. Called only when Tracer::reads_parents() is true.
  void set_parent(std::string_view parent, std::string_view state) {
    parents_ = tracer_.generation();
    parent_ = parse_trace_parent(parent, state);
  }
  void drop_parent() { parent_.reset(); }
  // Decides whether to trace the request that has arrived. Does nothing if tracing is off.
  void begin(Model& model) {
    if (tracer_.on()) decide(model);
  }
  // Returns the ids of the latest request, if it is traced; only once per request.
  bool take(TraceId& trace_id, SpanId& span_id);

  // Moves out the trace of the arriving request; null: it is not traced.
  std::unique_ptr<Trace> release() { return std::move(trace_); }
  void restore(std::unique_ptr<Trace> trace) { trace_ = std::move(trace); }
  void drop() { trace_.reset(); }
  // Returns the trace of one task of a traced call: each task is a span. The first has the ids that
  // the client gets.
  std::unique_ptr<Trace> of_task(size_t at) const;

 private:
  void decide(Model& model);

  Tracer& tracer_;
  std::optional<TraceParent> parent_;  // of the next request
  uint64_t parents_ = 0;               // the tracer's generation in which parent_ counts
  std::unique_ptr<Trace> trace_;
  bool fresh_ = false;  // the ids below were not taken yet
  TraceId trace_id_{};
  SpanId span_id_{};
};

}  // namespace serval
