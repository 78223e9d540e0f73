// Checks raw fixed-size tensors and makes views or copies of them. Hot path, any thread.
#include "codec/checked.h"

#include <cstring>

#include "base/buffer.h"
#include "base/copies.h"
#include "base/cpu/cpu.h"

namespace serval {

namespace {

std::string quoted(std::string_view input) {
  std::string text = "input '";
  text.append(input.substr(0, kErrorValueBytesMax));
  return text + "'";
}

// Index of the first byte above 1, or the size if there is none.
size_t first_bad_bool(std::span<const uint8_t> raw) {
  size_t at = 0;
  while (at + 32 <= raw.size() && cpu::all_bools(raw.data() + at)) at += 32;
  while (at < raw.size() && raw[at] <= 1) ++at;
  return at;
}

Status wrong_size(uint64_t got, uint64_t expected, DType dtype, const Shape& shape,
                  std::string_view input) {
  return invalid_argument(quoted(input) + ": expected " + std::to_string(expected) +
                          " bytes (shape " + shape.to_string() + " of " +
                          std::string(dtype_name(dtype)) + "), got " + std::to_string(got));
}

}  // namespace

Status check_raw_size(uint64_t bytes, DType dtype, const Shape& shape, std::string_view input) {
  const size_t element_bytes = dtype_bytes(dtype);
  const auto elements = shape.elements();
  uint64_t expected = 0;
  if (element_bytes == 0 || !elements ||
      __builtin_mul_overflow(*elements, element_bytes, &expected)) {
    return invalid_argument(quoted(input) + ": shape " + shape.to_string() + " of " +
                            std::string(dtype_name(dtype)) + " has no size in bytes");
  }
  return expected == bytes ? ok_status() : wrong_size(bytes, expected, dtype, shape, input);
}

Status raw_fixed_tensor(std::span<const uint8_t> raw, DType dtype, const Shape& shape,
                        std::string_view input, Arena& arena, TensorView& out) {
  if (Status fits = check_raw_size(raw.size(), dtype, shape, input); !fits.ok()) return fits;
  if (dtype == DType::Bool) {
    const size_t bad = first_bad_bool(raw);
    if (bad != raw.size()) {
      return invalid_argument(quoted(input) + ": BOOL element " + std::to_string(bad) +
                              ": expected byte 0 or 1, got " + std::to_string(raw[bad]));
    }
  }
  out.dtype = dtype;
  out.shape = shape;
  out.bytes = raw.size();
  out.strings = {};
  if (!raw.empty() && reinterpret_cast<uintptr_t>(raw.data()) % dtype_bytes(dtype) == 0) {
    out.data = raw.data();
    count_viewed(raw.size());
    return {};
  }
  auto* copy = static_cast<uint8_t*>(arena.allocate(raw.size()));
  if (copy == nullptr) {
    return make_error(ErrorCode::Internal,
                      quoted(input) + ": no memory for " + std::to_string(raw.size()) + " bytes");
  }
  if (!raw.empty()) std::memcpy(copy, raw.data(), raw.size());
  out.data = copy;
  count_copied(raw.size());
  return {};
}

}  // namespace serval
