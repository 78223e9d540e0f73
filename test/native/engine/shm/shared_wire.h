// Messages with tensors in regions of shared memory. Test code.
#pragma once

#include <initializer_list>
#include <string_view>

#include "engine/engine_fixture.h"

namespace serval::test {

inline WireBuilder text_entry(std::string_view key, std::string_view value) {
  return WireBuilder().bytes(1, key).message(2, WireBuilder().bytes(3, value));
}
inline WireBuilder number_entry(std::string_view key, int64_t value) {
  return WireBuilder().bytes(1, key).message(2, WireBuilder().varint(2, value));
}

// Adds the parameters of a region in field `number` of `tensor`.
inline WireBuilder placed(WireBuilder tensor, uint32_t number, std::string_view region,
                          int64_t bytes, int64_t offset = 0) {
  tensor.message(number, text_entry("shared_memory_region", region));
  tensor.message(number, number_entry("shared_memory_byte_size", bytes));
  if (offset != 0) tensor.message(number, number_entry("shared_memory_offset", offset));
  return tensor;
}

inline WireBuilder input_at(std::string_view region, int64_t bytes, int64_t offset = 0,
                            std::string_view name = "x", std::string_view dtype = "FP32",
                            std::initializer_list<int64_t> shape = {2}) {
  return placed(wire_input(name, dtype, shape), 4, region, bytes, offset);
}

inline WireBuilder output_at(std::string_view region, int64_t bytes, int64_t offset = 0,
                             std::string_view name = "y") {
  return placed(WireBuilder().bytes(1, name), 2, region, bytes, offset);
}

// InferOutputTensor of an output of two floats in a region.
inline WireBuilder answer_at(std::string_view region, int64_t bytes, int64_t offset) {
  return placed(wire_input("y", "FP32", {2}), 4, region, bytes, offset);
}

}  // namespace serval::test
