// Writes JSON integers, strings and tensor elements. Hot path; pure, any thread. Floats are written
// by float_text.cc and float_batch.cc, base64 by base64.cc. Must not throw; memory comes from the
// response buffer only.
#include "codec/json/text.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/cpu/cpu.h"
#include "codec/json/digits.h"
#include "codec/json/float_text.h"

namespace serval {

namespace {

inline void store_eight(char* out, uint64_t digits) { std::memcpy(out, &digits, 8); }

inline char* write_eight(char* out, uint32_t value) {
  store_eight(out, eight_digits(value) | kEightZeros);
  return out + 8;
}

// Writes `value` below 10^8, without leading zeros. Touches eight bytes.
inline char* write_short(char* out, uint32_t value) {
  const uint64_t digits = eight_digits(value);
  const int zeros = std::countr_zero(digits | (uint64_t{1} << 56)) / 8;  // keeps at least one digit
  store_eight(out, (digits | kEightZeros) >> (8 * zeros));
  return out + 8 - zeros;
}

// The top bit of each of the eight bytes at `text` that a JSON string has to escape (and of bytes
// above one, which may be wrong).
inline uint64_t escape_mask_8(const char* text) {
  constexpr uint64_t kOnes = 0x0101010101010101ULL;
  uint64_t bytes = 0;
  std::memcpy(&bytes, text, 8);
  const uint64_t quote = bytes ^ (kOnes * '"');
  const uint64_t backslash = bytes ^ (kOnes * '\\');
  const uint64_t zero_or_low = ((bytes - kOnes * 0x20) & ~bytes) | ((quote - kOnes) & ~quote) |
                               ((backslash - kOnes) & ~backslash);
  return zero_or_low & (kOnes * 0x80);
}

inline bool needs_escape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

// Length of the prefix of `text` that needs no escape.
size_t clean_length(std::string_view text) {
  size_t i = 0;
  for (; i + 32 <= text.size(); i += 32) {
    const uint32_t mask = cpu::string_stops(text.data() + i);
    if (mask != 0) return i + static_cast<size_t>(std::countr_zero(mask));
  }
  for (; i + 8 <= text.size(); i += 8) {
    const uint64_t mask = escape_mask_8(text.data() + i);
    if (mask != 0) return i + static_cast<size_t>(std::countr_zero(mask) / 8);
  }
  while (i < text.size() && !needs_escape(text[i])) ++i;
  return i;
}

constexpr size_t kEscapeMax = 6;

char* write_escape(char* out, char c) {
  *out++ = '\\';
  switch (c) {
    case '"':
    case '\\': *out++ = c; return out;
    case '\b': *out++ = 'b'; return out;
    case '\f': *out++ = 'f'; return out;
    case '\n': *out++ = 'n'; return out;
    case '\r': *out++ = 'r'; return out;
    case '\t': *out++ = 't'; return out;
    default: break;
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::memcpy(out, "u00", 3);
  out[3] = kHex[(c >> 4) & 0xf];
  out[4] = kHex[c & 0xf];
  return out + 5;
}

// Elements per reservation: bounds how far the buffer is reserved beyond what is needed.
constexpr uint64_t kChunk = 4096;

template <typename T>
T load(const uint8_t* data, uint64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

// Reserves capacity for `left` more elements, given that `done` of them took the bytes after
// `start`: growing step by step would copy a large response several times. If memory is out, growth
// continues in steps.
void expect_more(ByteBuffer& out, size_t start, uint64_t done, uint64_t left) {
  const size_t each = (out.size() - start) / done + 1;
  if (left > 0) (void)out.reserve(out.size() + each * left + kChunk * kDoubleTextMax);
}

// Writes elements [begin, end) with write(out, element), separated by commas.
template <typename T, size_t kTextMax, typename Write>
bool append_each(ByteBuffer& out, const uint8_t* data, uint64_t begin, uint64_t end, Write write) {
  const size_t start = out.size();
  const uint64_t first = begin + kChunk;
  for (uint64_t at = begin; at < end;) {
    const uint64_t stop = std::min(end, at + kChunk);
    auto* place = reinterpret_cast<char*>(out.room((stop - at) * (kTextMax + 1)));
    if (place == nullptr) return false;
    for (; at < stop; ++at) {
      place = write(place, load<T>(data, at));
      *place++ = ',';
    }
    out.set_end(reinterpret_cast<uint8_t*>(at == end ? place - 1 : place));
    if (at == first) expect_more(out, start, kChunk, end - at);
  }
  return true;
}

template <typename T>
bool append_integers(ByteBuffer& out, const uint8_t* data, uint64_t begin, uint64_t end) {
  return append_each<T, kIntegerTextMax>(out, data, begin, end, [](char* place, T value) {
    if constexpr (std::is_signed_v<T>) {
      return write_int64(place, value);
    } else {
      return write_uint64(place, value);
    }
  });
}

char* write_bool(char* out, uint8_t value) {
  std::memcpy(out, value != 0 ? "true\0" : "false", 5);
  return out + (value != 0 ? 4 : 5);
}

// `write` writes many elements, each followed by a comma.
template <typename T, size_t kTextMax, typename Write>
bool append_reals(ByteBuffer& out, const uint8_t* data, uint64_t count, Write write) {
  const size_t start = out.size();
  for (uint64_t at = 0; at < count;) {
    const uint64_t some = std::min(count - at, kChunk);
    auto* place = reinterpret_cast<char*>(out.room(some * (kTextMax + 1)));
    if (place == nullptr) return false;
    char* end = write(place, data + at * sizeof(T), some);
    at += some;
    out.set_end(reinterpret_cast<uint8_t*>(at == count ? end - 1 : end));
    if (at == some) expect_more(out, start, at, count - at);
  }
  return true;
}

bool append_floats(ByteBuffer& out, const uint8_t* data, uint64_t count) {
  return append_reals<float, kFloatTextMax>(out, data, count, float_text::write_floats);
}

// Writes FP16 and BF16 by converting to float, a block at a time.
template <typename T>
bool append_halves(ByteBuffer& out, const uint8_t* data, uint64_t count) {
  constexpr uint64_t kBlock = 512;
  float block[kBlock];
  for (uint64_t at = 0; at < count;) {
    const uint64_t some = std::min(count - at, kBlock);
    for (uint64_t i = 0; i < some; ++i) block[i] = static_cast<float>(load<T>(data, at + i));
    if (at != 0 && !out.append(",")) return false;
    if (!append_floats(out, reinterpret_cast<const uint8_t*>(block), some)) return false;
    at += some;
  }
  return true;
}

}  // namespace

char* write_uint64(char* out, uint64_t value) {
  constexpr uint64_t kEight = 100000000;
  if (value < kEight) return write_short(out, static_cast<uint32_t>(value));
  const uint64_t high = value / kEight;
  if (high < kEight) {
    out = write_short(out, static_cast<uint32_t>(high));
  } else {
    out = write_short(out, static_cast<uint32_t>(high / kEight));
    out = write_eight(out, static_cast<uint32_t>(high % kEight));
  }
  return write_eight(out, static_cast<uint32_t>(value % kEight));
}

char* write_int64(char* out, int64_t value) {
  const uint64_t negative = static_cast<uint64_t>(value) >> 63;
  *out = '-';
  return write_uint64(out + negative, (static_cast<uint64_t>(value) ^ (0 - negative)) + negative);
}

bool append_json_string(ByteBuffer& out, std::string_view text) {
  auto* place = reinterpret_cast<char*>(out.room(text.size() + 2));
  if (place == nullptr) return false;
  *place++ = '"';
  size_t clean = clean_length(text);
  while (true) {
    if (clean != 0) std::memcpy(place, text.data(), clean);
    place += clean;
    if (clean == text.size()) break;
    text.remove_prefix(clean);
    out.set_end(reinterpret_cast<uint8_t*>(place));
    place = reinterpret_cast<char*>(out.room(text.size() + kEscapeMax + 1));
    if (place == nullptr) return false;
    place = write_escape(place, text[0]);
    text.remove_prefix(1);
    clean = clean_length(text);
  }
  *place++ = '"';
  out.set_end(reinterpret_cast<uint8_t*>(place));
  return true;
}

bool append_float_rows(ByteBuffer& out, const TensorView& tensor, uint64_t begin, uint64_t end,
                       uint64_t row) {
  const uint64_t rows_at_once = std::max<uint64_t>(kChunk / row, 1);
  const size_t start = out.size();
  if (!out.append("[")) return false;
  for (uint64_t at = begin; at < end;) {
    const uint64_t some = std::min(end - at, rows_at_once * row);
    // A row's end takes two bytes besides its comma, which the element's size includes.
    auto* place = reinterpret_cast<char*>(out.room(some * (kFloatTextMax + 1) + some / row * 2));
    if (place == nullptr) return false;
    const uint8_t* data = tensor.data + at * sizeof(float);
    char* stop = float_text::write_float_rows(place, data, some, row);
    at += some;
    out.set_end(reinterpret_cast<uint8_t*>(at == end ? stop - 2 : stop));  // "],[" -> "]"
    if (at - begin == some) expect_more(out, start, some, end - at);
  }
  return true;
}

bool append_elements(ByteBuffer& out, const TensorView& tensor, uint64_t begin, uint64_t end) {
  const uint8_t* data = tensor.data;
  return visit(tensor.dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      return append_each<uint8_t, 5>(out, data, begin, end, write_bool);
    } else if constexpr (IsInteger<T>) {
      return append_integers<T>(out, data, begin, end);
    } else if constexpr (IsHalf<T>) {
      return append_halves<T>(out, data + begin * 2, end - begin);
    } else if constexpr (std::is_same_v<T, float>) {
      return append_floats(out, data + begin * 4, end - begin);
    } else if constexpr (std::is_same_v<T, double>) {
      return append_reals<double, kDoubleTextMax>(out, data + begin * 8, end - begin,
                                                  write_doubles);
    } else {
      return false;
    }
  });
}

}  // namespace serval
