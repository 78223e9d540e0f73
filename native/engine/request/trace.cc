// Makes trace ids and parses W3C trace contexts. Traced requests only, any thread.
#include "engine/request/trace.h"

#include <sys/random.h>

#include <algorithm>
#include <span>

#include "base/clock.h"

namespace serval {

namespace {

constexpr size_t kStateBytesMax = 512;
// "00-" 32 digits "-" 16 digits "-" 2 digits
constexpr size_t kTraceIdAt = 3;
constexpr size_t kSpanIdAt = 36;
constexpr size_t kFlagsAt = 53;
constexpr size_t kParentBytes = 55;
constexpr uint8_t kSampled = 1;

// The value of a lower-case hexadecimal digit; -1 for anything else.
int digit_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

bool read_hex(std::string_view text, std::span<uint8_t> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const int high = digit_of(text[2 * i]);
    const int low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

void add_hex(std::span<const uint8_t> bytes, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const uint8_t byte : bytes) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

bool is_zero(std::span<const uint8_t> id) {
  return std::all_of(id.begin(), id.end(), [](uint8_t byte) { return byte == 0; });
}

void fill(std::span<uint8_t> id) {
  do {
    const ssize_t got = getrandom(id.data(), id.size(), 0);
    if (got == static_cast<ssize_t>(id.size())) continue;
    // No random numbers available: mix the clock. Ids only need to differ.
    uint64_t value = now_ns();
    for (uint8_t& byte : id) {
      value = value * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<uint8_t>(value >> 56);
    }
  } while (is_zero(id));
}

}  // namespace

std::optional<TraceParent> parse_trace_parent(std::string_view parent, std::string_view state) {
  if (parent.size() < kParentBytes || parent[2] != '-' || parent[kSpanIdAt - 1] != '-' ||
      parent[kFlagsAt - 1] != '-') {
    return std::nullopt;
  }
  TraceParent read;
  std::array<uint8_t, 1> version{};
  std::array<uint8_t, 1> flags{};
  if (!read_hex(parent, version) || !read_hex(parent.substr(kTraceIdAt), read.trace_id) ||
      !read_hex(parent.substr(kSpanIdAt), read.span_id) ||
      !read_hex(parent.substr(kFlagsAt), flags)) {
    return std::nullopt;
  }
  // A later version may have more fields after these; they are ignored.
  const bool longer = parent.size() > kParentBytes;
  if (version[0] == 0xff || (version[0] == 0 && longer) ||
      (longer && parent[kParentBytes] != '-') || is_zero(read.trace_id) || is_zero(read.span_id)) {
    return std::nullopt;
  }
  read.sampled = (flags[0] & kSampled) != 0;
  const bool plain =
      state.size() <= kStateBytesMax &&
      std::all_of(state.begin(), state.end(), [](char one) { return one >= ' ' && one <= '~'; });
  if (plain) read.state = state;
  return read;
}

std::string trace_parent_text(const TraceId& trace_id, const SpanId& span_id) {
  std::string text = "00-";
  text.reserve(kParentBytes);
  add_hex(trace_id, text);
  text += '-';
  add_hex(span_id, text);
  text += "-01";
  return text;
}

std::string trace_id_text(const TraceId& trace_id) {
  std::string text;
  add_hex(trace_id, text);
  return text;
}

void make_trace_id(TraceId& id) { fill(id); }
void make_span_id(SpanId& id) { fill(id); }

}  // namespace serval
