// CRC-32C (Castagnoli) as TensorFlow stores it. Control plane (loads); any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace serval {

// Of `bytes`, continued from `crc` (0 at the beginning).
uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t crc = 0);

// The form in which TensorFlow writes a CRC into files that are themselves checked.
// Source: tensorflow-import.md 2.1 "Mask".
constexpr uint32_t mask_crc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace serval
