// Finds the queue parameters of a V2 infer body without reading the rest. Hot path; pure, any
// thread. Allocates nothing unless a parameter is wrong.
// Source: v2-protocol.md 2 "schedule policy".
#include "codec/v2/json_parts.h"
#include "codec/v2/json_walk.h"

namespace serval {

namespace {

using namespace v2;

// Values of other kinds are left to the decoder, which reports them.
bool is_scalar(std::string_view value) {
  return !value.empty() && value[0] != '[' && value[0] != '{' && value[0] != 'n';
}

}  // namespace

Status peek_v2_schedule(std::span<const uint8_t> body, int64_t json_bytes, SchedulePolicy& out) {
  out = {};
  Body parts;
  if (!split_body(body, json_bytes, parts).ok()) return {};
  const std::string_view root = json_root(parts.json);
  if (!root.starts_with('{')) return {};
  std::string_view parameters;
  for (JsonItems members(root); parameters.empty() && members.next();) {
    if (members.is("parameters")) parameters = members.value();
  }
  if (!parameters.starts_with('{')) return {};
  SchedulePolicy found;
  for (JsonItems members(parameters); members.next();) {
    const bool priority = members.is(kPriorityKey);
    if (!priority && !members.is(kTimeoutKey)) continue;
    const std::string_view value = members.value();
    if (whole_number(value, priority ? found.priority : found.timeout_us)) continue;
    if (!is_scalar(value)) break;
    Arena arena;
    if (!check_json(parts.json, UINT32_MAX, arena).ok()) return {};
    return not_whole("parameters", priority ? kPriorityKey : kTimeoutKey, 0, value);
  }
  out = found;
  return {};
}

}  // namespace serval
