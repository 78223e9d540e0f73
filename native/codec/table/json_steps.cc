// Implements the JSON steps of tabular decoders. Hot path; any thread.
#include "codec/table/json_steps.h"

#include <cstring>

namespace serval::table {

const char* read_text(const char* p, const char* end, Arena& arena, std::string_view& out) {
  if (p >= end || *p != '"') return nullptr;
  const char* stop = read_plain_string(p, end, out);
  if (stop != nullptr) return stop <= end ? stop : nullptr;
  stop = v2::behind_value(p, end);
  if (stop == nullptr) return nullptr;
  const std::string_view written(p, static_cast<size_t>(stop - p));
  return v2::string_of(written, arena, out) ? stop : nullptr;
}

const char* pass_value(const char* p, FastBody& body, bool& unchecked) {
  const char* stop = *p == '"' ? nullptr : skip_value(p, body);
  if (stop != nullptr) return stop;
  unchecked = true;
  return v2::behind_value(p, body.end);
}

const char* read_word(const char* p, const char* end, std::string_view word) {
  if (static_cast<size_t>(end - p) < word.size()) return nullptr;
  return std::memcmp(p, word.data(), word.size()) == 0 ? p + word.size() : nullptr;
}

const char* read_parameter(const char* p, FastBody& body, ParameterValue& out, bool& unchecked) {
  using Kind = ParameterValue::Kind;
  out = {};
  if (*p == '"') {
    out.kind = Kind::Text;
    return read_text(p, body.end, body.arena, out.text);
  }
  const char* stop = nullptr;
  if (*p == 't' || *p == 'f') {
    out.kind = Kind::Bool;
    out.flag = *p == 't';
    stop = read_word(p, body.end, out.flag ? "true" : "false");
  } else if (*p == '{') {  // {"string_param": "..."}
    stop = each_entry(p, body.end, body.arena, [&](std::string_view key, const char* at) {
      if (key != "string_param" || *at != '"') return pass_value(at, body, unchecked);
      out.kind = Kind::Text;
      return read_text(at, body.end, body.arena, out.text);
    });
    if (out.kind == Kind::Text) return stop;
  } else {
    stop = read_integer<int64_t>(p, body.end, out.integer);
    if (stop != nullptr && stop <= body.end && ends_number(*stop)) out.kind = Kind::Integer;
    else stop = pass_value(p, body, unchecked);
  }
  if (stop != nullptr) out.text = {p, static_cast<size_t>(stop - p)};
  return stop;
}

}  // namespace serval::table
