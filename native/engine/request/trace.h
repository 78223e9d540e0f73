// What a traced request carries with it, and the context that its caller sent. A request that is
// not traced has none of it. Any thread; one at a time has a request's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace serval {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// The batch that a traced request ran in, as a span of its own.
struct TraceBatch {
  TraceId trace_id{};
  SpanId span_id{};
  uint32_t requests = 0;  // 0: it ran alone
  uint32_t rows = 0;
};

struct Trace {
  TraceId trace_id{};
  SpanId span_id{};
  std::optional<SpanId> parent;
  std::string state;      // W3C's tracestate, as the caller sent it
  uint64_t start_ns = 0;  // now_ns()
  uint64_t start_since_1970_ns = 0;
  TraceBatch batch;
};

// A caller's context.
struct TraceParent {
  TraceId trace_id{};
  SpanId span_id{};
  bool sampled = false;
  std::string state;
};

// Of the headers traceparent and tracestate; nothing where the first is not one, as the standard
// has it. A state that is longer than 512 bytes, or no text, is left out.
// Source: W3C Trace Context 3.2, 3.3.
std::optional<TraceParent> parse_trace_parent(std::string_view parent, std::string_view state);

// "00-<trace>-<span>-01": the header of a traced request's answer.
std::string trace_parent_text(const TraceId& trace_id, const SpanId& span_id);

// The trace's id in hexadecimal digits.
std::string trace_id_text(const TraceId& trace_id);

// New ids, which are not all zero. From the kernel's random numbers.
void make_trace_id(TraceId& id);
void make_span_id(SpanId& id);

}  // namespace serval
