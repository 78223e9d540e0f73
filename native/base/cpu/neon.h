// The functions of scalar.h for arm64: NEON, which every such CPU has, and the instructions for
// CRC-32, which every server CPU has. Hot path; any thread.
#pragma once

#include <arm_acle.h>
#include <arm_neon.h>

#include <cstdint>

#include "base/cpu/scalar.h"

namespace serval::cpu::neon {

using scalar::first_bit;

using Bytes16 = uint8x16_t;

inline uint8x16_t load(const void* from) { return vld1q_u8(static_cast<const uint8_t*>(from)); }

// One bit for each byte of a comparison's result. Each byte keeps the bit of its place in a group
// of eight; three sums of neighbours put them together.
inline uint8x16_t place_bits(uint8x16_t matches) {
  constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  return vandq_u8(matches, vld1q_u8(kBits));
}

inline uint32_t mask_of(uint8x16_t low, uint8x16_t high) {
  uint8x16_t sums = vpaddq_u8(place_bits(low), place_bits(high));
  sums = vpaddq_u8(sums, sums);
  sums = vpaddq_u8(sums, sums);
  return vgetq_lane_u32(vreinterpretq_u32_u8(sums), 0);
}

inline uint32_t mask_of(uint8x16_t matches) { return mask_of(matches, matches) & 0xffffu; }

template <typename Match>
uint32_t each_half(const char* from, Match match) {
  return mask_of(match(load(from)), match(load(from + 16)));
}

inline uint32_t string_stops(const char* text) {
  return each_half(text, [](uint8x16_t bytes) {
    const uint8x16_t marks =
        vorrq_u8(vceqq_u8(bytes, vdupq_n_u8('"')), vceqq_u8(bytes, vdupq_n_u8('\\')));
    return vorrq_u8(vcleq_u8(bytes, vdupq_n_u8(0x1f)), marks);
  });
}

template <uint8_t same, uint8_t mark>
uint32_t marks_and_quotes(const char* text) {
  return each_half(text, [](uint8x16_t bytes) {
    const uint8x16_t marks = vceqq_u8(vandq_u8(bytes, vdupq_n_u8(same)), vdupq_n_u8(mark & same));
    return vorrq_u8(marks, vceqq_u8(bytes, vdupq_n_u8('"')));
  });
}

inline bool all_bools(const uint8_t* bytes) {
  return vmaxvq_u8(vorrq_u8(load(bytes), load(bytes + 16))) <= 1;
}

inline uint32_t not_digits(const char* text) {
  return ~mask_of(vcleq_u8(vsubq_u8(load(text), vdupq_n_u8('0')), vdupq_n_u8(9)));
}

inline uint64_t gather_digits(const char* first, uint32_t count, uint32_t whole) {
  const uint8x16_t digits = vsubq_u8(load(first), vdupq_n_u8('0'));
  int8x16_t from = vreinterpretq_s8_u8(load(kAlignRight.data() + count));
  const int8x16_t before = vdupq_n_s8(static_cast<int8_t>(whole - 1));
  from = vsubq_s8(from, vreinterpretq_s8_u8(vcgtq_s8(from, before)));
  const uint8x16_t ones = vqtbl1q_u8(digits, vreinterpretq_u8_s8(from));
  constexpr uint8_t kTens[16] = {10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1};
  constexpr uint16_t kHundreds[8] = {100, 1, 100, 1, 100, 1, 100, 1};
  constexpr uint32_t kFours[4] = {10000, 1, 10000, 1};
  const uint16x8_t tens = vpaddlq_u8(vmulq_u8(ones, vld1q_u8(kTens)));
  const uint32x4_t fours = vpaddlq_u16(vmulq_u16(tens, vld1q_u16(kHundreds)));
  const uint64x2_t eights = vpaddlq_u32(vmulq_u32(fours, vld1q_u32(kFours)));
  return vgetq_lane_u64(eights, 0) * 100000000u + vgetq_lane_u64(eights, 1);
}

inline Bytes16 two_words(uint64_t low, uint64_t high) {
  return vcombine_u8(vcreate_u8(low), vcreate_u8(high));
}

inline Bytes16 sixteen_digits(uint32_t high, uint32_t low) {
  const uint64x2_t eights = vcombine_u64(vcreate_u64(high), vcreate_u64(low));
  const uint32x2_t values = vmovn_u64(eights);
  const uint64x2_t upper = vshrq_n_u64(vmull_n_u32(values, 0xd1b71759u), 45);  // / 10000
  const uint64x2_t below = vsubq_u64(eights, vmull_n_u32(vmovn_u64(upper), 10000));
  const uint32x4_t fours = vreinterpretq_u32_u64(vorrq_u64(upper, vshlq_n_u64(below, 32)));
  // 10486 / 2^20 is exact for a hundredth, 103 / 2^10 for a tenth (digits.h).
  const uint32x4_t hundreds = vshrq_n_u32(vmulq_n_u32(fours, 10486), 20);
  const uint32x4_t units = vmlsq_n_u32(fours, hundreds, 100);
  const uint16x8_t pairs = vreinterpretq_u16_u32(vorrq_u32(hundreds, vshlq_n_u32(units, 16)));
  const uint16x8_t tens = vshrq_n_u16(vmulq_n_u16(pairs, 103), 10);
  const uint16x8_t ones = vmlsq_n_u16(pairs, tens, 10);
  return vreinterpretq_u8_u16(vorrq_u16(tens, vshlq_n_u16(ones, 8)));
}

inline Bytes16 to_text(Bytes16 digits) { return vorrq_u8(digits, vdupq_n_u8('0')); }

inline uint32_t not_zero(Bytes16 bytes) { return mask_of(vcgtq_u8(bytes, vdupq_n_u8(0))); }

inline Bytes16 pick(Bytes16 bytes, const uint8_t* places) {
  return vqtbl1q_u8(bytes, load(places));
}

inline void store(char* out, Bytes16 bytes) { vst1q_u8(reinterpret_cast<uint8_t*>(out), bytes); }

inline uint32_t crc32c_byte(uint32_t state, uint8_t byte) { return __crc32cb(state, byte); }
inline uint64_t crc32c_word(uint64_t state, uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(state), word);
}

inline uint64_t flush_denormals() {
  constexpr uint64_t kFlushToZero = uint64_t{1} << 24;
  uint64_t before = 0;
  asm volatile("mrs %0, fpcr" : "=r"(before));
  asm volatile("msr fpcr, %0" : : "r"(before | kFlushToZero));
  return before;
}

inline void restore_float_mode(uint64_t before) { asm volatile("msr fpcr, %0" : : "r"(before)); }

inline void pause() { asm volatile("yield"); }

}  // namespace serval::cpu::neon
