// The trace of a request, and the context that its caller sent. A request that is not traced has
// none. Hot path; any thread, but one at a time for each request.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace serval {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// The batch that a traced request ran in, exported as its own span.
struct TraceBatch {
  TraceId trace_id{};
  SpanId span_id{};
  uint32_t requests = 0;  // 0: it ran alone
  uint32_t rows = 0;
};

// A copy of an input or output of a traced request.
struct TracedTensor {
  std::string name;
  bool output = false;
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  std::vector<uint8_t> data;     // raw elements
  std::vector<uint8_t> missing;  // per row, 1: it has no value; empty: all have one
  bool left_out = false;         // the elements were not copied
};

struct Trace {
  TraceId trace_id{};
  SpanId span_id{};
  std::optional<SpanId> parent;
  std::string state;      // W3C's tracestate, as the caller sent it
  uint64_t start_ns = 0;  // now_ns()
  uint64_t start_since_1970_ns = 0;
  uint64_t load_wait_ns = 0;  // the part of its queue time that it waited for its model's load
  TraceBatch batch;
  bool has_tensors = false;           // whether its rule asks for inputs and outputs
  std::vector<TracedTensor> tensors;  // set when the response is made
};

// A caller's trace context.
struct TraceParent {
  TraceId trace_id{};
  SpanId span_id{};
  bool sampled = false;
  std::string state;
};

// Parses the headers traceparent and tracestate. Returns nothing if the first is invalid, as the
// standard says. A state that is longer than 512 bytes, or not text, is left out. Source: W3C Trace
// Context 3.2, 3.3.
std::optional<TraceParent> parse_trace_parent(std::string_view parent, std::string_view state);

// Returns "00-<trace>-<span>-01": the header of a traced request's response.
std::string trace_parent_text(const TraceId& trace_id, const SpanId& span_id);

// Returns the trace's id in hexadecimal digits.
std::string trace_id_text(const TraceId& trace_id);

// Makes a new id from the kernel's random numbers; never all zero.
void make_trace_id(TraceId& id);
void make_span_id(SpanId& id);

}  // namespace serval
