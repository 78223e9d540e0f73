// Decimal digits by arithmetic on words, without branches or tables. Hot path; any thread.
#pragma once

#include <cstdint>

namespace serval {

// Converts `value` (below 10^8) to its eight digits as bytes 0..9, the first in the lowest byte.
inline uint64_t eight_digits(uint32_t value) {
  // Each step splits every field in two: (x << w) - q * ((step << w) - 1) is q + ((x % step) << w).
  const uint64_t halves = (uint64_t{value} << 32) - (value / 10000) * ((10000ULL << 32) - 1);
  const uint64_t hundreds = ((halves * 10486) >> 20) & 0x0000007f0000007fULL;
  const uint64_t pairs = (halves << 16) - hundreds * ((100ULL << 16) - 1);
  const uint64_t tens = ((pairs * 103) >> 10) & 0x000f000f000f000fULL;
  return (pairs << 8) - tens * ((10ULL << 8) - 1);
}

inline constexpr uint64_t kEightZeros = 0x3030303030303030ULL;  // "00000000"

}  // namespace serval
