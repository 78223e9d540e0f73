// The steps of the fast JSON decoders that are too long to inline. Hot path; pure, any thread.
// Recursion is bounded by kSkipDepthMax.
#include "codec/json/cursor.h"

#include <bit>
#include <cstring>

#include "base/cpu/cpu.h"
#include "codec/json/number.h"
#include "codec/json/text.h"

namespace serval {

namespace {

constexpr int kSkipDepthMax = 64;

// The first quotation mark, backslash or control character at or after `p`; nullptr if there is
// none before `end`.
const char* find_string_stop(const char* p, const char* end) {
  for (; p < end; p += 32) {
    const uint32_t mask = cpu::string_stops(p);
    if (mask != 0) {
      p += std::countr_zero(mask);
      return p < end ? p : nullptr;
    }
  }
  return nullptr;
}

const char* skip_word(const char* p, const char* end, std::string_view word) {
  if (static_cast<size_t>(end - p) < word.size()) return nullptr;
  return std::memcmp(p, word.data(), word.size()) == 0 ? p + word.size() : nullptr;
}

// `p` is after the opening bracket. Looks at no byte after the end: nested lists would go on from
// one such byte to the next, past the padding.
const char* skip_list(const char* p, FastBody& body, int depth) {
  p = skip_blanks(p, body.end);
  if (p < body.end && *p == ']') return p + 1;
  for (;;) {
    if (p >= body.end) return nullptr;
    p = skip_value(p, body, depth);
    if (p == nullptr) return nullptr;
    p = skip_blanks(p, body.end);
    if (p >= body.end) return nullptr;
    if (*p == ']') return p + 1;
    if (*p != ',') return nullptr;
    p = skip_blanks(p + 1, body.end);
  }
}

}  // namespace

const char* read_plain_string(const char* p, const char* end, std::string_view& out) {
  if (*p != '"') return nullptr;
  const char* stop = find_string_stop(p + 1, end);
  if (stop == nullptr || *stop != '"') return nullptr;
  out = {p + 1, static_cast<size_t>(stop - p - 1)};
  return stop + 1;
}

const char* read_string(const char* p, FastBody& body, std::string_view& out) {
  if (const char* stop = read_plain_string(p, body.end, out)) return stop;
  if (*p != '"' || p >= body.end) return nullptr;
  body.lexer.seek(static_cast<size_t>(p - body.begin));
  body.latest = nullptr;
  if (!body.lexer.string(out)) return nullptr;
  return body.begin + body.lexer.position();
}

bool is_base64_front(const char* p, const char* end) {
  if (*p != '{') return false;
  p = skip_blanks(p + 1, end);
  if (end - p < 8 || std::memcmp(p, "\"b64\"", 5) != 0) return false;
  p = skip_blanks(p + 5, end);
  if (*p != ':') return false;
  p = skip_blanks(p + 1, end);
  return *p == '"' && p < end;
}

const char* read_base64_object(const char* p, FastBody& body, std::string_view& out) {
  if (!is_base64_front(p, body.end)) return nullptr;
  p = skip_blanks(p + 1, body.end);
  p = skip_blanks(p + 5, body.end);
  p = skip_blanks(p + 1, body.end);
  std::string_view text;
  p = read_string(p, body, text);
  if (p == nullptr) return nullptr;
  p = skip_blanks(p, body.end);
  if (*p != '}') return nullptr;
  body.latest = nullptr;
  const Base64Result decoded = decode_base64(text, body.arena);
  out = decoded.bytes;
  return decoded.ok ? p + 1 : nullptr;
}

const char* skip_value(const char* p, FastBody& body, int depth) {
  if (p >= body.end || depth > kSkipDepthMax) return nullptr;
  switch (*p) {
    case '[': return skip_list(p + 1, body, depth + 1);
    case '{':
      return each_member(p, body, [&](std::string_view, const char* at) {
        return skip_value(at, body, depth + 1);
      });
    case '"': {
      std::string_view unused;
      return read_plain_string(p, body.end, unused);
    }
    case 't': return skip_word(p, body.end, "true");
    case 'f': return skip_word(p, body.end, "false");
    case 'n': return skip_word(p, body.end, "null");
    default: {
      double unused = 0;
      return read_double(p, body.end, unused);
    }
  }
}

}  // namespace serval
