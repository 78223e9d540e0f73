// The decision to trace a request. Hot path (traced requests); the listener's thread.
#include "engine/lane/traces.h"

namespace serval {

void ArrivalTraces::decide(Model& model) {
  // A request that arrived while tracing was off left its parent here.
  if (parents_ != tracer_.generation()) parent_.reset();
  trace_ = tracer_.begin(*model.trace_sampler().load(std::memory_order_acquire), parent_);
  parent_.reset();
  fresh_ = trace_ != nullptr;
  if (!fresh_) return;
  trace_id_ = trace_->trace_id;
  span_id_ = trace_->span_id;
}

bool ArrivalTraces::take(TraceId& trace_id, SpanId& span_id) {
  if (!std::exchange(fresh_, false)) return false;
  trace_id = trace_id_;
  span_id = span_id_;
  return true;
}

std::unique_ptr<Trace> ArrivalTraces::of_task(size_t at) const {
  if (trace_ == nullptr) return nullptr;
  return at == 0 ? std::make_unique<Trace>(*trace_) : Tracer::beside(*trace_);
}

}  // namespace serval
