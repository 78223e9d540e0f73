// The queue parameters of a V2 infer body, found without reading the rest: values are stepped over
// by their quotes and brackets, 32 bytes at a time. Hot path; pure, any thread. Allocates nothing
// unless a parameter is wrong. Source: v2-protocol.md 2 "schedule policy".
#include <immintrin.h>

#include <bit>
#include <charconv>
#include <cstring>

#include "codec/json/cursor.h"
#include "codec/v2/json_parts.h"
#include "codec/v2/json_walk.h"

namespace serval {

namespace {

using namespace v2;

// The byte behind the string at `p` (its quotation mark), escapes or not; nullptr where it does not
// end. Every run of backslashes is counted once: linear.
const char* behind_string(const char* p, const char* end) {
  const char* const first = ++p;
  for (;;) {
    p = static_cast<const char*>(std::memchr(p, '"', static_cast<size_t>(end - p)));
    if (p == nullptr) return nullptr;
    const char* slash = p;
    while (slash != first && slash[-1] == '\\') --slash;
    ++p;
    if ((p - slash) % 2 == 1) return p;
  }
}

// The byte behind the list or object at `p`; nullptr where it does not end. Which bracket closes
// which is the decoder's to check.
const char* behind_brackets(const char* p, const char* end) {
  const __m256i same_bits = _mm256_set1_epi8(static_cast<char>(~0x26));  // [ ] { } agree in these
  const __m256i bracket = _mm256_set1_epi8('[' & ~0x26);
  size_t depth = 0;
  while (p < end) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i brackets = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, same_bits), bracket);
    const __m256i quotes = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'));
    auto mask = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(brackets, quotes)));
    const char* next = p + 32;
    for (; mask != 0; mask &= mask - 1) {
      const char* at = p + std::countr_zero(mask);
      if (at >= end) return nullptr;
      if (*at == '[' || *at == '{') {
        ++depth;
      } else if (*at == ']' || *at == '}') {
        if (--depth == 0) return at + 1;
      } else if (*at == '"') {
        next = behind_string(at, end);
        if (next == nullptr) return nullptr;
        break;
      }
    }
    p = next;
  }
  return nullptr;
}

// `p` may be the end. nullptr where the text ends in the value or before it.
const char* behind_value(const char* p, const char* end) {
  if (p >= end) return nullptr;
  if (*p == '"') return behind_string(p, end);
  if (*p == '[' || *p == '{') return behind_brackets(p, end);
  while (p < end && *p != ',' && *p != '}' && !is_blank(*p)) ++p;
  return p < end ? p : nullptr;
}

// Calls visit(key as it is written, text of the value) at the members of `object` until it answers
// true or the text is malformed.
template <typename Visit>
void scan_members(std::string_view object, Visit visit) {
  const char* const end = object.data() + object.size();
  const char* p = object.data() + 1;
  for (;;) {
    p = skip_blanks(p, end);
    if (p >= end || *p != '"') return;
    const char* const name = p + 1;
    p = behind_string(p, end);
    if (p == nullptr) return;
    const std::string_view key(name, static_cast<size_t>(p - 1 - name));
    p = skip_blanks(p, end);
    if (p >= end || *p != ':') return;
    p = skip_blanks(p + 1, end);
    const char* const stop = behind_value(p, end);
    if (stop == nullptr || visit(key, std::string_view(p, static_cast<size_t>(stop - p)))) return;
    p = skip_blanks(stop, end);
    if (p >= end || *p != ',') return;
    ++p;
  }
}

// Whether `written`, which may have escapes, is `name`, which has ASCII letters only.
bool is_name(std::string_view written, std::string_view name) {
  for (const char letter : name) {
    if (written.starts_with(letter)) {
      written.remove_prefix(1);
      continue;
    }
    constexpr size_t kEscapeBytes = 6;
    if (!written.starts_with("\\u00") || written.size() < kEscapeBytes) return false;
    const char* const stop = written.data() + kEscapeBytes;
    unsigned code = 0;
    const auto read = std::from_chars(written.data() + 4, stop, code, 16);
    if (read.ptr != stop || code != static_cast<unsigned>(letter)) return false;
    written.remove_prefix(kEscapeBytes);
  }
  return written.empty();
}

// The decoder words what stands where a scalar should.
bool is_scalar(std::string_view value) {
  return !value.empty() && value[0] != '[' && value[0] != '{' && value[0] != 'n';
}

}  // namespace

Status peek_v2_schedule(std::span<const uint8_t> body, int64_t json_bytes, SchedulePolicy& out) {
  out = {};
  Body parts;
  if (!split_body(body, json_bytes, parts).ok()) return {};
  const std::string_view root = parts.json.substr(json_start(parts.json));
  if (!root.starts_with('{')) return {};
  std::string_view parameters;
  scan_members(root, [&parameters](std::string_view key, std::string_view value) {
    if (!is_name(key, "parameters")) return false;
    parameters = value;
    return true;
  });
  if (!parameters.starts_with('{')) return {};
  Status status;
  SchedulePolicy found;
  scan_members(parameters, [&](std::string_view key, std::string_view value) {
    const bool priority = is_name(key, kPriorityKey);
    if (!priority && !is_name(key, kTimeoutKey)) return false;
    if (whole_number(value, priority ? found.priority : found.timeout_us)) return false;
    if (!is_scalar(value)) return true;
    status = not_whole("parameters", priority ? kPriorityKey : kTimeoutKey, 0, value);
    return true;
  });
  if (status.ok()) {
    out = found;
    return status;
  }
  Arena arena;
  const bool is_json = check_json(parts.json, UINT32_MAX, arena).ok();
  return is_json ? std::move(status) : Status();
}

}  // namespace serval
