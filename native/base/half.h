// Converts FP16 and BF16 bit patterns to and from float. Rounds to nearest even; NaN stays NaN
// (quiet). Hot path, any thread.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace serval {

inline float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
  // Subnormal (or zero): the value is mantissa * 2^-24, exact in float.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

// Values of magnitude 65520 and more become infinity.
inline uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 places the mantissa's last bit at 2^-24, the sum rounds to even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
}

inline float bf16_to_float(uint16_t bf16) {
  return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16);
}

inline uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Converts a double to a float whose last bit records that bits were cut off ("round to odd"), so
// that the conversion from float to a 16-bit type rounds as if from the double itself.
inline float double_to_float_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const double magnitude = value < 0 ? -value : value;
  const double rounded = nearest < 0 ? -static_cast<double>(nearest) : static_cast<double>(nearest);
  if (rounded > magnitude) --bits;  // rounds toward zero
  return std::bit_cast<float>(bits | 1u);
}

inline uint16_t double_to_half(double value) { return float_to_half(double_to_float_odd(value)); }
inline uint16_t double_to_bf16(double value) { return float_to_bf16(double_to_float_odd(value)); }

// An element of an FP16 tensor.
struct Half {
  uint16_t bits;

  Half() = default;
  explicit Half(double value) : bits(double_to_half(value)) {}
  template <std::floating_point T>
  explicit operator T() const {
    return half_to_float(bits);
  }
};

// An element of a BF16 tensor.
struct Bfloat16 {
  uint16_t bits;

  Bfloat16() = default;
  explicit Bfloat16(double value) : bits(double_to_bf16(value)) {}
  template <std::floating_point T>
  explicit operator T() const {
    return bf16_to_float(bits);
  }
};

}  // namespace serval
