// The functions of scalar.h for x86-64 with AVX2 (x86-64-v3). Those for 16 bytes are sse4.h's. Hot
// path; any thread.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "base/cpu/sse4.h"

namespace serval::cpu::avx2 {

using sse4::Bytes16;
using sse4::crc32c_byte;
using sse4::crc32c_word;
using sse4::flush_denormals;
using sse4::gather_digits;
using sse4::not_digits;
using sse4::not_zero;
using sse4::pause;
using sse4::pick;
using sse4::restore_float_mode;
using sse4::sixteen_digits;
using sse4::store;
using sse4::to_text;
using sse4::two_words;

inline uint32_t first_bit(uint32_t mask) { return _tzcnt_u32(mask); }

inline __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

inline __m256i at_most(__m256i bytes, uint8_t limit) {
  return _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(static_cast<char>(limit))),
                           bytes);
}

inline uint32_t mask_of(__m256i bytes) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(bytes));
}

inline uint32_t string_stops(const char* text) {
  const __m256i bytes = load(text);
  const __m256i quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'));
  const __m256i backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'));
  return mask_of(_mm256_or_si256(at_most(bytes, 0x1f), _mm256_or_si256(quote, backslash)));
}

template <uint8_t same, uint8_t mark>
uint32_t marks_and_quotes(const char* text) {
  const __m256i bytes = load(text);
  const __m256i kept = _mm256_and_si256(bytes, _mm256_set1_epi8(static_cast<char>(same)));
  const __m256i marks = _mm256_cmpeq_epi8(kept, _mm256_set1_epi8(static_cast<char>(mark & same)));
  return mask_of(_mm256_or_si256(marks, _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'))));
}

inline bool all_bools(const uint8_t* bytes) { return mask_of(at_most(load(bytes), 1)) + 1 == 0; }

}  // namespace serval::cpu::avx2
