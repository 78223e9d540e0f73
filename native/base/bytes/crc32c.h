// CRC-32C (Castagnoli) as TensorFlow stores it. Control plane (loads); any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace serval {

// The CRC of `bytes`, continued from `crc` (0 at the start).
uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t crc = 0);

// Masks a CRC as TensorFlow does in files that have their own checksum.
// Source: tensorflow-import.md 2.1 "Mask".
constexpr uint32_t mask_crc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace serval
