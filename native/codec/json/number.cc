// Reads numbers that are too long or too rare for the inline readers. Hot path (17-digit doubles
// are common: Python writes them); pure, any thread. Reads digits eight at a time; the double comes
// from Clinger's exact case or Eisel-Lemire (simdjson's tables), and from std::from_chars if those
// are undecided.
#include "codec/json/number.h"

#include <charconv>
#include <cstring>

#include "simdjson.h"

namespace serval::json_number {

namespace {

constexpr uint32_t kDigitsMax = 19;  // this many digits always fit 64 bits
constexpr int64_t kExponentMax = 99999;

uint64_t load_eight(const char* p) {
  uint64_t bytes;
  std::memcpy(&bytes, p, sizeof(bytes));
  return bytes;
}

bool is_eight_digits(uint64_t bytes) {
  return ((bytes & 0xf0f0f0f0f0f0f0f0u) |
          (((bytes + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4)) == 0x3333333333333333u;
}

uint64_t eight_digits(uint64_t bytes) {
  bytes -= 0x3030303030303030u;
  bytes = bytes * 10 + (bytes >> 8);
  constexpr uint64_t kMask = 0x000000ff000000ffu;
  constexpr uint64_t kLow = 0x000f424000000064u;   // 100 + (1000000 << 32)
  constexpr uint64_t kHigh = 0x0000271000000001u;  // 1 + (10000 << 32)
  return ((bytes & kMask) * kLow + ((bytes >> 16) & kMask) * kHigh) >> 32;
}

bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Appends the digits at `p` to `value` (which may wrap: the caller counts them); nullptr if they
// continue after `end`.
const char* take_digits(const char* p, const char* end, uint64_t& value) {
  while (p < end) {
    const uint64_t bytes = load_eight(p);
    if (!is_eight_digits(bytes)) break;
    value = value * 100000000u + eight_digits(bytes);
    p += 8;
  }
  while (p < end && is_digit(*p)) value = value * 10 + static_cast<uint64_t>(*p++ - '0');
  return p < end ? p : nullptr;
}

bool starts_with(const char* p, const char* end, const char* word, size_t bytes) {
  return static_cast<size_t>(end - p) > bytes && std::memcmp(p, word, bytes) == 0;
}

// Source: tfserving.md 1.4 "Tokens".
const char* read_token(const char* p, const char* end, bool negative, double& out) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (starts_with(p, end, "NaN", 3)) {
    out = std::numeric_limits<double>::quiet_NaN();
    return p + 3;
  }
  if (!starts_with(p, end, "Inf", 3)) return nullptr;
  out = negative ? -kInfinity : kInfinity;
  if (starts_with(p, end, "Infinity", 8)) return p + 8;
  return p[3] == 'i' ? nullptr : p + 3;
}

// Reads the digits of the integer part; nullptr for none, for leading zeros and at the end of the
// text.
const char* take_whole(const char* p, const char* end, uint64_t& value) {
  if (p >= end || !is_digit(*p)) return nullptr;
  const char* stop = take_digits(p, end, value);
  return stop == nullptr || (*p == '0' && stop - p > 1) ? nullptr : stop;
}

const char* take_exponent(const char* p, const char* end, int64_t& exponent) {
  const bool minus = *p == '-';
  if (minus || *p == '+') ++p;
  if (p >= end || !is_digit(*p)) return nullptr;
  int64_t value = 0;
  for (; p < end && is_digit(*p); ++p) {
    if (value < kExponentMax) value = value * 10 + (*p - '0');
  }
  exponent = minus ? -value : value;
  return p;
}

// `text`: the whole number. False: out of double's range, too small or too large.
bool from_text(const char* begin, const char* end, double& out) {
  return std::from_chars(begin, end, out).ec == std::errc{};
}

}  // namespace

const char* read_double_general(const char* p, const char* end, double& out) {
  const char* begin = p;
  const bool negative = *p == '-';
  p += negative;
  if (*p == 'N' || *p == 'I') return read_token(p, end, negative, out);
  const char* first = p;
  uint64_t mantissa = 0;
  p = take_whole(p, end, mantissa);
  if (p == nullptr) return nullptr;
  auto digits = static_cast<uint64_t>(p - first);
  int64_t exponent = 0;
  bool whole = true;
  if (*p == '.') {
    const char* point = p++;
    p = take_digits(p, end, mantissa);
    if (p == nullptr || p == point + 1) return nullptr;
    exponent = -(p - point - 1);
    digits += static_cast<uint64_t>(p - point - 1);
    whole = false;
  }
  if ((*p | 0x20) == 'e') {
    int64_t written = 0;
    p = take_exponent(p + 1, end, written);
    if (p == nullptr) return nullptr;
    exponent += written;
    whole = false;
  }
  if (digits > kDigitsMax) return from_text(begin, p, out) ? p : nullptr;
  if (whole) {
    const auto magnitude = static_cast<double>(mantissa);
    out = negative && mantissa != 0 ? -magnitude : magnitude;
    return p;
  }
  using simdjson::SIMDJSON_BUILTIN_IMPLEMENTATION::numberparsing::compute_float_64;
  if (exponent >= simdjson::internal::smallest_power &&
      exponent <= simdjson::internal::largest_power &&
      compute_float_64(exponent, mantissa, negative, out)) {
    return p;
  }
  return from_text(begin, p, out) ? p : nullptr;
}

const char* read_integer_general(const char* p, const char* end, bool& negative,
                                 uint64_t& magnitude) {
  negative = *p == '-';
  const char* first = p + negative;
  uint64_t unused = 0;
  const char* stop = take_whole(first, end, unused);
  if (stop == nullptr) return nullptr;
  return std::from_chars(first, stop, magnitude).ec == std::errc{} ? stop : nullptr;
}

}  // namespace serval::json_number
