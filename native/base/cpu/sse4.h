// The functions of scalar.h for x86-64 with SSE4.2 (x86-64-v2). Hot path; any thread.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "base/cpu/scalar.h"

namespace serval::cpu::sse4 {

using scalar::first_bit;

using Bytes16 = __m128i;

inline __m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

inline __m128i at_most(__m128i bytes, uint8_t limit) {
  return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(static_cast<char>(limit))), bytes);
}

inline uint32_t mask_of(__m128i bytes) { return static_cast<uint32_t>(_mm_movemask_epi8(bytes)); }

// The masks of both halves of 32 bytes.
template <typename Match>
uint32_t each_half(const void* from, Match match) {
  const auto* halves = static_cast<const __m128i*>(from);
  return mask_of(match(_mm_loadu_si128(halves))) | mask_of(match(_mm_loadu_si128(halves + 1)))
                                                       << 16;
}

inline uint32_t string_stops(const char* text) {
  return each_half(text, [](__m128i bytes) {
    const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    return _mm_or_si128(at_most(bytes, 0x1f), _mm_or_si128(quote, backslash));
  });
}

template <uint8_t same, uint8_t mark>
uint32_t marks_and_quotes(const char* text) {
  return each_half(text, [](__m128i bytes) {
    const __m128i kept = _mm_and_si128(bytes, _mm_set1_epi8(static_cast<char>(same)));
    const __m128i marks = _mm_cmpeq_epi8(kept, _mm_set1_epi8(static_cast<char>(mark & same)));
    return _mm_or_si128(marks, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
  });
}

inline bool all_bools(const uint8_t* bytes) {
  return each_half(bytes, [](__m128i half) { return at_most(half, 1); }) == 0xffffffffu;
}

inline uint32_t not_digits(const char* text) {
  return ~mask_of(at_most(_mm_sub_epi8(load(text), _mm_set1_epi8('0')), 9));
}

inline uint64_t gather_digits(const char* first, uint32_t count, uint32_t whole) {
  const __m128i digits = _mm_sub_epi8(load(first), _mm_set1_epi8('0'));
  __m128i from = load(kAlignRight.data() + count);
  const __m128i before = _mm_set1_epi8(static_cast<char>(whole - 1));
  from = _mm_sub_epi8(from, _mm_cmpgt_epi8(from, before));
  const __m128i ones = _mm_shuffle_epi8(digits, from);
  const __m128i tens = _mm_maddubs_epi16(
      ones, _mm_setr_epi8(10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1));
  const __m128i hundreds = _mm_madd_epi16(tens, _mm_setr_epi16(100, 1, 100, 1, 100, 1, 100, 1));
  const __m128i packed = _mm_packus_epi32(hundreds, hundreds);
  const __m128i eights =
      _mm_madd_epi16(packed, _mm_setr_epi16(10000, 1, 10000, 1, 10000, 1, 10000, 1));
  const auto pair = static_cast<uint64_t>(_mm_cvtsi128_si64(eights));
  return (pair & 0xffffffffu) * 100000000u + (pair >> 32);
}

inline Bytes16 two_words(uint64_t low, uint64_t high) {
  return _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
}

inline Bytes16 sixteen_digits(uint32_t high, uint32_t low) {
  const __m128i eights = _mm_set_epi64x(low, high);
  const __m128i upper =
      _mm_srli_epi64(_mm_mul_epu32(eights, _mm_set1_epi64x(0xd1b71759)), 45);  // / 10000
  const __m128i below = _mm_sub_epi64(eights, _mm_mul_epu32(upper, _mm_set1_epi64x(10000)));
  const __m128i fours = _mm_or_si128(upper, _mm_slli_epi64(below, 32));
  const __m128i hundreds = _mm_srli_epi16(_mm_mulhi_epu16(fours, _mm_set1_epi16(5243)), 3);
  const __m128i units = _mm_sub_epi16(fours, _mm_mullo_epi16(hundreds, _mm_set1_epi16(100)));
  const __m128i pairs = _mm_or_si128(hundreds, _mm_slli_epi32(units, 16));
  const __m128i tens = _mm_srli_epi16(_mm_mullo_epi16(pairs, _mm_set1_epi16(103)), 10);
  const __m128i ones = _mm_sub_epi16(pairs, _mm_mullo_epi16(tens, _mm_set1_epi16(10)));
  return _mm_or_si128(tens, _mm_slli_epi16(ones, 8));
}

inline Bytes16 to_text(Bytes16 digits) { return _mm_or_si128(digits, _mm_set1_epi8('0')); }

inline uint32_t not_zero(Bytes16 bytes) {
  return mask_of(_mm_cmpgt_epi8(bytes, _mm_setzero_si128()));
}

inline Bytes16 pick(Bytes16 bytes, const uint8_t* places) {
  return _mm_shuffle_epi8(bytes, load(places));
}

inline void store(char* out, Bytes16 bytes) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
}

inline uint32_t crc32c_byte(uint32_t state, uint8_t byte) { return _mm_crc32_u8(state, byte); }

inline uint64_t crc32c_word(uint64_t state, uint64_t word) { return _mm_crc32_u64(state, word); }

inline uint64_t flush_denormals() {
  constexpr unsigned kFlushToZero = 0x8000, kZeroInputs = 0x0040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlushToZero | kZeroInputs);
  return before;
}

inline void restore_float_mode(uint64_t before) { _mm_setcsr(static_cast<unsigned>(before)); }

inline void pause() { _mm_pause(); }

}  // namespace serval::cpu::sse4
