// Parses and formats gRPC's header texts. Time limits are on the hot path, the rest is rare.
#include "transport/grpc/text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/bytes/utf8.h"

namespace serval {

namespace {

constexpr uint64_t kTimeoutNsMax = UINT64_MAX / 2;
constexpr size_t kTimeoutDigitsMax = 8;
constexpr std::string_view kCutMark = "...";
constexpr char kHex[] = "0123456789ABCDEF";
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 64;

// Nanoseconds per unit; 0 = not a unit.
uint64_t unit_ns(char unit) {
  switch (unit) {
    case 'H': return 3'600'000'000'000;
    case 'M': return 60'000'000'000;
    case 'S': return 1'000'000'000;
    case 'm': return 1'000'000;
    case 'u': return 1'000;
    case 'n': return 1;
    default: return 0;
  }
}

// Whether encodeURI leaves the character unescaped. Source: ECMA-262 19.2.6.4 (uriReserved,
// uriUnescaped, "#").
bool stays_in_uri(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view(";/?:@&=+$,-_.!~*'()#").find(c) != std::string_view::npos;
}

constexpr std::array<uint8_t, 256> digits_of_bytes() {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return digits;
}

constexpr std::array<uint8_t, 256> kDigits = digits_of_bytes();

}  // namespace

std::optional<uint64_t> parse_timeout_ns(std::string_view text) {
  if (text.size() < 2 || text.size() > kTimeoutDigitsMax + 1) return std::nullopt;
  const uint64_t unit = unit_ns(text.back());
  if (unit == 0) return std::nullopt;
  uint64_t count = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    count = count * 10 + static_cast<uint64_t>(c - '0');
  }
  return count > kTimeoutNsMax / unit ? kTimeoutNsMax : count * unit;
}

void append_percent_encoded(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // A header's value neither begins nor ends with a space. Source: RFC 9113 8.2.1.
    const bool at_an_end = i == 0 || i + 1 == text.size();
    if (c >= ' ' && c <= '~' && c != '%' && !(c == ' ' && at_an_end)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    out.push_back('%');
    out.push_back(kHex[byte >> 4]);
    out.push_back(kHex[byte & 15]);
  }
}

std::string cut_status_message(std::string_view text, size_t bytes_max, size_t encoded_bytes_max) {
  std::string out;
  out.reserve(std::min(text.size(), bytes_max));
  size_t encoded_bytes = 0;
  size_t fits = 0;  // bytes of `out` to keep if the mark is appended
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length_at(text, at);
    const std::string_view character =
        length == 0 ? kReplacementCharacter : text.substr(at, length);
    at += std::max<size_t>(length, 1);
    encoded_bytes += character.size() == 1 && stays_in_uri(character[0]) ? 1 : character.size() * 3;
    out += character;
    if (out.size() > bytes_max || encoded_bytes > encoded_bytes_max) {
      out.resize(fits);
      return out.append(kCutMark);
    }
    if (out.size() + kCutMark.size() <= bytes_max &&
        encoded_bytes + kCutMark.size() <= encoded_bytes_max) {
      fits = out.size();
    }
  }
  return out;
}

void append_base64(std::string_view bytes, std::string& out) {
  uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    for (bit_count += 8; bit_count >= 6; bit_count -= 6) {
      out.push_back(kAlphabet[bits >> (bit_count - 6) & 63]);
    }
  }
  if (bit_count > 0) out.push_back(kAlphabet[bits << (6 - bit_count) & 63]);
}

bool decode_base64(std::string_view text, std::string& out) {
  out.clear();
  if (text.ends_with('=')) {
    if (text.size() % 4 != 0) return false;
    text.remove_suffix(text.ends_with("==") ? 2 : 1);
  }
  if (text.size() % 4 == 1) return false;
  out.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : text) {
    const uint8_t digit = kDigits[static_cast<uint8_t>(c)];
    if (digit == kNoDigit) {
      out.clear();
      return false;
    }
    bits = bits << 6 | digit;
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    out.push_back(static_cast<char>(bits >> bit_count & 0xff));
  }
  return true;
}

}  // namespace serval
