// JSON integers, strings and tensor elements as text. Hot path; pure, any thread. Floats are
// written by float_text.cc and float_batch.cc, base64 by base64.cc. Must not throw; memory comes
// from the response buffer only.
#include "codec/json_text.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/half.h"
#include "codec/float_text.h"

namespace serval {

namespace {

constexpr auto kPairs = [] {
  std::array<char, 200> table{};
  for (size_t i = 0; i < 100; ++i) {
    table[2 * i] = static_cast<char>('0' + i / 10);
    table[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return table;
}();

inline char* write_pair(char* out, uint32_t value) {
  std::memcpy(out, kPairs.data() + size_t{2} * value, 2);
  return out + 2;
}

inline char* write_eight(char* out, uint32_t value) {
  const uint32_t high = value / 10000;
  const uint32_t low = value % 10000;
  write_pair(out, high / 100);
  write_pair(out + 2, high % 100);
  write_pair(out + 4, low / 100);
  write_pair(out + 6, low % 100);
  return out + 8;
}

inline char* write_below_10000(char* out, uint32_t value) {
  if (value < 10) {
    *out = static_cast<char>('0' + value);
    return out + 1;
  }
  if (value < 100) return write_pair(out, value);
  if (value < 1000) {
    *out = static_cast<char>('0' + value / 100);
    return write_pair(out + 1, value % 100);
  }
  return write_pair(write_pair(out, value / 100), value % 100);
}

// `value` below 10^8, without leading zeros.
inline char* write_short(char* out, uint32_t value) {
  if (value < 10000) return write_below_10000(out, value);
  out = write_below_10000(out, value / 10000);
  const uint32_t low = value % 10000;
  return write_pair(write_pair(out, low / 100), low % 100);
}

// Bytes that a JSON string must not hold as they are, among the 32 at `text`, as a bit mask.
inline uint32_t escape_mask(const char* text) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text));
  const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
  const __m256i quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'));
  const __m256i backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'));
  const __m256i any = _mm256_or_si256(control, _mm256_or_si256(quote, backslash));
  return static_cast<uint32_t>(_mm256_movemask_epi8(any));
}

inline bool needs_escape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

// Length of the front part of `text` that needs no escape.
size_t clean_length(std::string_view text) {
  size_t i = 0;
  for (; i + 32 <= text.size(); i += 32) {
    const uint32_t mask = escape_mask(text.data() + i);
    if (mask != 0) return i + static_cast<size_t>(std::countr_zero(mask));
  }
  while (i < text.size() && !needs_escape(text[i])) ++i;
  return i;
}

constexpr size_t kEscapeMax = 6;

char* write_escape(char* out, char c) {
  *out++ = '\\';
  switch (c) {
    case '"':
    case '\\':
      *out++ = c;
      return out;
    case '\b':
      *out++ = 'b';
      return out;
    case '\f':
      *out++ = 'f';
      return out;
    case '\n':
      *out++ = 'n';
      return out;
    case '\r':
      *out++ = 'r';
      return out;
    case '\t':
      *out++ = 't';
      return out;
    default:
      break;
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::memcpy(out, "u00", 3);
  out[3] = kHex[(c >> 4) & 0xf];
  out[4] = kHex[c & 0xf];
  return out + 5;
}

// Elements per reservation: bounds how far the buffer is reserved past what is needed.
constexpr uint64_t kChunk = 4096;

template <typename T>
T load(const uint8_t* data, uint64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

// Writes elements [begin, end) as write(out, element), comma separated.
template <typename T, size_t kTextMax, typename Write>
bool append_each(ByteBuffer& out, const uint8_t* data, uint64_t begin, uint64_t end, Write write) {
  for (uint64_t at = begin; at < end;) {
    const uint64_t stop = std::min(end, at + kChunk);
    auto* place = reinterpret_cast<char*>(out.room((stop - at) * (kTextMax + 1)));
    if (place == nullptr) return false;
    for (; at < stop; ++at) {
      place = write(place, load<T>(data, at));
      *place++ = ',';
    }
    out.set_end(reinterpret_cast<uint8_t*>(at == end ? place - 1 : place));
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

bool append_floats(ByteBuffer& out, const uint8_t* data, uint64_t count) {
  for (uint64_t at = 0; at < count;) {
    const uint64_t some = std::min(count - at, kChunk);
    auto* place = reinterpret_cast<char*>(out.room(some * (kFloatTextMax + 1)));
    if (place == nullptr) return false;
    char* end = float_text::write_floats(place, data + at * sizeof(float), some);
    at += some;
    out.set_end(reinterpret_cast<uint8_t*>(at == count ? end - 1 : end));
  }
  return true;
}

// FP16 and BF16: by way of float, a block at a time.
template <float (*kToFloat)(uint16_t)>
bool append_halves(ByteBuffer& out, const uint8_t* data, uint64_t count) {
  constexpr uint64_t kBlock = 512;
  float block[kBlock];
  for (uint64_t at = 0; at < count;) {
    const uint64_t some = std::min(count - at, kBlock);
    for (uint64_t i = 0; i < some; ++i) block[i] = kToFloat(load<uint16_t>(data, at + i));
    if (at != 0 && !out.append(",")) return false;
    if (!append_floats(out, reinterpret_cast<const uint8_t*>(block), some)) return false;
    at += some;
  }
  return true;
}

}  // namespace

char* write_uint64(char* out, uint64_t value) {
  if (value < 100000000) return write_short(out, static_cast<uint32_t>(value));
  const uint64_t high = value / 100000000;
  const auto low = static_cast<uint32_t>(value % 100000000);
  if (high < 100000000) {
    out = write_short(out, static_cast<uint32_t>(high));
  } else {
    out = write_below_10000(out, static_cast<uint32_t>(high / 100000000));
    out = write_eight(out, static_cast<uint32_t>(high % 100000000));
  }
  return write_eight(out, low);
}

char* write_int64(char* out, int64_t value) {
  auto magnitude = static_cast<uint64_t>(value);
  if (value < 0) {
    *out++ = '-';
    magnitude = 0 - magnitude;
  }
  return write_uint64(out, magnitude);
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

bool append_elements(ByteBuffer& out, const TensorView& tensor, uint64_t begin, uint64_t end) {
  const uint8_t* data = tensor.data;
  switch (tensor.dtype) {
    case DType::Bool:
      return append_each<uint8_t, 5>(out, data, begin, end, write_bool);
    case DType::Uint8:
      return append_integers<uint8_t>(out, data, begin, end);
    case DType::Uint16:
      return append_integers<uint16_t>(out, data, begin, end);
    case DType::Uint32:
      return append_integers<uint32_t>(out, data, begin, end);
    case DType::Uint64:
      return append_integers<uint64_t>(out, data, begin, end);
    case DType::Int8:
      return append_integers<int8_t>(out, data, begin, end);
    case DType::Int16:
      return append_integers<int16_t>(out, data, begin, end);
    case DType::Int32:
      return append_integers<int32_t>(out, data, begin, end);
    case DType::Int64:
      return append_integers<int64_t>(out, data, begin, end);
    case DType::Fp16:
      return append_halves<half_to_float>(out, data + begin * 2, end - begin);
    case DType::Bf16:
      return append_halves<bf16_to_float>(out, data + begin * 2, end - begin);
    case DType::Fp32:
      return append_floats(out, data + begin * 4, end - begin);
    case DType::Fp64:
      return append_each<double, kDoubleTextMax>(out, data, begin, end, write_double);
    case DType::Bytes:
    case DType::Invalid:
      break;
  }
  return false;
}

}  // namespace serval
