// Shortest text of many floats: float_text.cc's algorithm on eight values at once (AVX2), then one
// shuffle per value for the layout. Hot path; pure, any thread. About four times as fast as one by
// one, with the same text (json_text_test compares them on every exponent). CPUs without AVX2:
// float_each.cc.
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "codec/json/float_text.h"
#include "codec/json/text.h"

namespace serval::float_text {

namespace {

using Vector = __m256i;  // eight 32-bit lanes, unless noted

inline Vector set(int value) { return _mm256_set1_epi32(value); }
inline Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
inline Vector subtract(Vector a, Vector b) { return _mm256_sub_epi32(a, b); }
inline Vector multiply(Vector a, Vector b) { return _mm256_mullo_epi32(a, b); }
inline Vector choose(Vector mask, Vector yes, Vector no) {
  return _mm256_blendv_epi8(no, yes, mask);
}
// All values compared here are below 2^31, so signed compares suffice.
inline Vector above(Vector a, Vector b) { return _mm256_cmpgt_epi32(a, b); }
inline Vector equal(Vector a, Vector b) { return _mm256_cmpeq_epi32(a, b); }
inline Vector odd_lanes(Vector a) { return _mm256_srli_epi64(a, 32); }

// value / d as (value * magic) >> (32 + shift).
template <int kShift>
inline Vector divide(Vector value, uint32_t magic) {
  const Vector factor = set(static_cast<int>(magic));
  const Vector even = odd_lanes(_mm256_mul_epu32(value, factor));
  const Vector odd = _mm256_mul_epu32(odd_lanes(value), factor);
  return _mm256_srli_epi32(_mm256_blend_epi32(even, odd, 0xaa), kShift);
}

// Top 32 of the 96 bits of power * factor; the last bit is sticky.
inline Vector round_to_odd(Vector power_high, Vector power_low, Vector factor) {
  const Vector even = _mm256_add_epi64(_mm256_mul_epu32(power_high, factor),
                                       odd_lanes(_mm256_mul_epu32(power_low, factor)));
  const Vector factor_odd = odd_lanes(factor);
  const Vector odd =
      _mm256_add_epi64(_mm256_mul_epu32(odd_lanes(power_high), factor_odd),
                       odd_lanes(_mm256_mul_epu32(odd_lanes(power_low), factor_odd)));
  const Vector top = _mm256_blend_epi32(odd_lanes(even), odd, 0xaa);
  const Vector low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
  const Vector exact = equal(_mm256_and_si256(low, set(~1)), _mm256_setzero_si256());
  return _mm256_or_si256(top, add(set(1), exact));
}

struct Decimals {
  Vector digits;  // seven to nine digits
  Vector exponent;
};

// Like shortest_decimal in float_text.cc, with the same names. `fraction` and `biased` are a normal
// float's fields.
inline Decimals shortest_decimals(Vector fraction, Vector biased) {
  const Vector mantissa = _mm256_or_si256(fraction, set(0x800000));
  const Vector exponent = subtract(biased, set(150));
  const Vector closer =
      _mm256_and_si256(equal(fraction, _mm256_setzero_si256()), above(biased, set(1)));
  const Vector odd = _mm256_and_si256(fraction, set(1));
  const Vector k = _mm256_srai_epi32(
      subtract(multiply(exponent, set(1262611)), _mm256_and_si256(closer, set(524031))), 22);
  const Vector shift =
      add(add(exponent, set(1)), _mm256_srai_epi32(multiply(k, set(-1741647)), 19));
  const Vector index = _mm256_slli_epi32(subtract(set(-kPowerMin), k), 1);
  const auto* powers = reinterpret_cast<const int*>(kPowers.data());
  const Vector low = _mm256_i32gather_epi32(powers, index, 4);
  const Vector high = _mm256_i32gather_epi32(powers + 1, index, 4);
  const Vector centre = _mm256_slli_epi32(mantissa, 2);
  const auto scaled = [&](Vector bound) {
    return round_to_odd(high, low, _mm256_sllv_epi32(bound, shift));
  };
  const Vector lower = add(scaled(subtract(subtract(centre, set(2)), closer)), odd);
  const Vector value = scaled(centre);
  const Vector upper = subtract(scaled(add(centre, set(2))), odd);

  const Vector whole = _mm256_srli_epi32(value, 2);
  const Vector tens = divide<3>(whole, 0xcccccccdu);
  const Vector tens_40 = multiply(tens, set(40));
  const Vector tens_not_up = above(add(tens_40, set(40)), upper);
  const Vector shorter = _mm256_xor_si256(above(lower, tens_40), tens_not_up);
  const Vector ten = multiply(subtract(tens, equal(tens_not_up, _mm256_setzero_si256())), set(10));
  const Vector ones_4 = _mm256_and_si256(value, set(~3));
  const Vector ones_not_up = above(add(ones_4, set(4)), upper);
  const Vector one_inside = _mm256_xor_si256(above(lower, ones_4), ones_not_up);
  // Rounds up if the quarters are 3, or 2 above an odd number.
  const Vector quarters = _mm256_and_si256(value, set(3));
  const Vector nearer_up = above(add(quarters, _mm256_and_si256(whole, set(1))), set(2));
  const Vector ones_up = choose(one_inside, equal(ones_not_up, _mm256_setzero_si256()), nearer_up);
  return {choose(shorter, ten, subtract(whole, ones_up)), k};
}

// Converts values below 10^8 in 64-bit lanes (upper halves 0) to eight decimal digits as bytes
// 0..9.
inline Vector eight_digits(Vector value, Vector upper_four) {
  const Vector lower_four = subtract(value, multiply(upper_four, set(10000)));
  const Vector halves = _mm256_or_si256(upper_four, _mm256_slli_epi64(lower_four, 32));
  const Vector hundreds = _mm256_srli_epi16(_mm256_mulhi_epu16(halves, _mm256_set1_epi16(5243)), 3);
  const Vector below = _mm256_sub_epi16(halves, _mm256_mullo_epi16(hundreds, set(100)));
  const Vector pairs = _mm256_or_si256(hundreds, _mm256_slli_epi32(below, 16));
  const Vector tens = _mm256_srli_epi16(_mm256_mullo_epi16(pairs, _mm256_set1_epi16(103)), 10);
  const Vector ones = _mm256_sub_epi16(pairs, _mm256_mullo_epi16(tens, _mm256_set1_epi16(10)));
  return _mm256_or_si256(tens, _mm256_slli_epi16(ones, 8));
}

// The input of the layout step for eight values.
struct Batch {
  alignas(32) uint64_t rest_even[4];  // digits 1..8 of values 0 2 4 6
  alignas(32) uint64_t rest_odd[4];
  alignas(32) uint32_t first[8];  // digit 0
  alignas(32) int32_t layout[8];  // index into kLayouts
  uint32_t negative = 0;          // bit masks
  uint32_t special = 0;           // values left to write_float
};

inline void decompose(const uint8_t* data, Batch& batch) {
  const Vector bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data));
  const Vector fraction = _mm256_and_si256(bits, set(0x7fffff));
  const Vector biased = _mm256_and_si256(_mm256_srli_epi32(bits, 23), set(0xff));
  const Vector zero = equal(_mm256_slli_epi32(bits, 1), _mm256_setzero_si256());
  // Subnormal; 2^23..2^32, written exactly; not finite.
  const Vector subnormal = equal(biased, _mm256_setzero_si256());
  const Vector exact = _mm256_and_si256(above(biased, set(149)), above(set(159), biased));
  const Vector special = _mm256_andnot_si256(
      zero, _mm256_or_si256(_mm256_or_si256(subnormal, exact), equal(biased, set(0xff))));
  batch.negative = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(bits)));
  batch.special = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(special)));

  const Decimals decimals = shortest_decimals(fraction, biased);
  const Vector eight = above(decimals.digits, set(9999999));
  const Vector nine = above(decimals.digits, set(99999999));
  const Vector scale = choose(nine, set(1), choose(eight, set(10), set(100)));
  const Vector digits = _mm256_andnot_si256(zero, multiply(decimals.digits, scale));
  const Vector exponent = subtract(add(decimals.exponent, set(6)), add(eight, nine));
  const Vector layout = subtract(_mm256_andnot_si256(zero, exponent), set(kExponentMin));
  const Vector first = divide<25>(digits, 0x55e63b89u);
  const Vector rest = subtract(digits, multiply(first, set(100000000)));
  const Vector upper_four = divide<13>(rest, 0xd1b71759u);
  const Vector low_half = _mm256_set1_epi64x(0xffffffff);
  const Vector even =
      eight_digits(_mm256_and_si256(rest, low_half), _mm256_and_si256(upper_four, low_half));
  const Vector odd = eight_digits(odd_lanes(rest), odd_lanes(upper_four));
  _mm256_store_si256(reinterpret_cast<__m256i*>(batch.rest_even), even);
  _mm256_store_si256(reinterpret_cast<__m256i*>(batch.rest_odd), odd);
  _mm256_store_si256(reinterpret_cast<__m256i*>(batch.first), first);
  _mm256_store_si256(reinterpret_cast<__m256i*>(batch.layout), layout);
}

// Writes value `i` of the batch and a comma.
inline char* write_lane(char* out, const Batch& batch, const uint8_t* data, uint32_t i) {
  if (((batch.special >> i) & 1u) != 0) [[unlikely]] {
    float value = 0;
    std::memcpy(&value, data + i * sizeof value, sizeof value);
    out = write_float(out, value);
  } else {
    *out = '-';
    out += (batch.negative >> i) & 1u;
    const uint64_t rest = (i & 1u) != 0 ? batch.rest_odd[i / 2] : batch.rest_even[i / 2];
    out = lay_out(out, digit_vector(rest, batch.first[i]), significant_digits(rest),
                  kLayouts[static_cast<size_t>(batch.layout[i])]);
  }
  *out = ',';
  return out + 1;
}

}  // namespace

char* write_float_rows(char* out, const uint8_t* data, uint64_t count, uint64_t row) {
  Batch batch;
  uint8_t last[32] = {};
  uint64_t column = 0;
  for (uint64_t at = 0; at < count; at += 8, data += 32) {
    const auto lanes = static_cast<uint32_t>(std::min<uint64_t>(count - at, 8));
    const uint8_t* lane_data = data;
    if (lanes < 8) {
      std::memcpy(last, data, lanes * sizeof(float));
      lane_data = last;
    }
    decompose(lane_data, batch);
    for (uint32_t i = 0; i < lanes; ++i) {
      out = write_lane(out, batch, lane_data, i);
      if (++column != row) continue;
      column = 0;
      std::memcpy(out - 1, "],[", 3);
      out += 2;
    }
  }
  return out;
}

char* write_floats(char* out, const uint8_t* data, uint64_t count) {
  Batch batch;
  for (; count >= 8; count -= 8, data += 32) {
    decompose(data, batch);
    for (uint32_t i = 0; i < 8; ++i) out = write_lane(out, batch, data, i);
  }
  if (count == 0) return out;
  uint8_t last[32] = {};
  std::memcpy(last, data, count * sizeof(float));
  decompose(last, batch);
  for (uint32_t i = 0; i < count; ++i) out = write_lane(out, batch, last, i);
  return out;
}

}  // namespace serval::float_text
