// Maps upper and lower case of UTF-8 text (case_map.h). Hot path; pure.
#include "operators/strings/case_map.h"

#include "base/unicode/letters.h"
#include "operators/strings/encoding.h"

namespace serval::operators {

namespace {

void append(char32_t c, StringsOut& out) {
  out.check_limit();
  if (!out.is_over()) append_character(c, Encoding::Utf8, out.bytes());
}

// Whether the next character, skipping ignorable ones, has a case. Long runs of ignorable
// characters after many sigmas would take quadratic time; 256 bytes are longer than any word's run.
bool letter_follows(std::string_view text) {
  text = text.substr(0, 256);
  while (!text.empty()) {
    const Decoded decoded = decode_utf8(text);
    if (has_case(decoded.value)) return true;
    if (!is_case_ignorable(decoded.value)) return false;
    text.remove_prefix(decoded.bytes);
  }
  return false;
}

}  // namespace

void append_lower(std::string_view text, StringsOut& out) {
  text = text.substr(0, text.find('\0'));
  bool in_word = false;  // the nearest preceding character that is not ignorable has a case
  while (!text.empty() && !out.is_over()) {
    const Decoded decoded = decode_utf8(text);
    text.remove_prefix(decoded.bytes);
    const char32_t c = decoded.value;
    if (c == kSigma) {
      append(in_word && !letter_follows(text) ? kFinalSigma : kSmallSigma, out);
    } else if (c == kDottedI) {
      append('i', out);
      append(kDotAbove, out);
    } else {
      append(lower_of(c), out);
    }
    if (!is_case_ignorable(c)) in_word = has_case(c);
  }
}

void append_upper(std::string_view text, StringsOut& out) {
  text = text.substr(0, text.find('\0'));
  while (!text.empty() && !out.is_over()) {
    const Decoded decoded = decode_utf8(text);
    text.remove_prefix(decoded.bytes);
    const std::span<const char32_t> expansion = upper_expansion_of(decoded.value);
    if (expansion.empty()) append(upper_of(decoded.value), out);
    for (char32_t c : expansion) {
      if (c != 0) append(c, out);
    }
  }
}

}  // namespace serval::operators
