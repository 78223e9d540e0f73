// Reads the elements of one input. Hot path; any thread.
#include "capi/elements.h"

#include "codec/checked.h"
#include "codec/json/echo.h"

namespace serval::capi {

namespace {

std::string number(uint64_t value) { return std::to_string(value); }

Error wrong_input(const serval_tensor& given, const std::string& what) {
  return invalid_argument(input_place(given) + ": " + what);
}

bool is_text(DType dtype) {
  return dtype_is_text(dtype) || dtype == DType::Date || dtype == DType::Timestamp;
}

// The datatypes of the header.
bool is_known(int32_t dtype) { return dtype >= SERVAL_BOOL && dtype <= SERVAL_TIMESTAMP; }

Status read_texts(const serval_tensor& given, uint64_t count, Arena& arena, TensorView& out) {
  const uint64_t* offsets = given.offsets;
  if (offsets == nullptr) {
    return wrong_input(given, "offsets: expected " + number(count + 1) + " numbers, got NULL");
  }
  if (given.data == nullptr && given.bytes != 0) {
    return wrong_input(given, "data: expected " + number(given.bytes) + " bytes, got NULL");
  }
  auto* texts = arena.allocate_array<std::string_view>(count);
  if (texts == nullptr) {
    return make_error(ErrorCode::MemoryFull, input_place(given) + ": no memory for its texts");
  }
  const auto* data = static_cast<const char*>(given.data);
  for (uint64_t i = 0; i < count; ++i) {
    if (offsets[i] > offsets[i + 1] || offsets[i + 1] > given.bytes) {
      return wrong_input(given, "offsets[" + number(i + 1) + "]: expected " + number(offsets[i]) +
                                    " to bytes, " + number(given.bytes) + ", got " +
                                    number(offsets[i + 1]));
    }
    texts[i] = offsets[i] == offsets[i + 1]
                   ? std::string_view()
                   : std::string_view(data + offsets[i], offsets[i + 1] - offsets[i]);
  }
  out.strings = {texts, count};
  return {};
}

}  // namespace

std::string input_place(const serval_tensor& given) {
  return "input '" + echo_text(given.name) + "'";
}

Status read_head(const serval_tensor& given, size_t index, bool ragged, DType& dtype,
                 Shape& shape) {
  if (given.name == nullptr) {
    return invalid_argument("inputs[" + number(index) + "].name: expected a text, got NULL");
  }
  if (!is_known(given.dtype)) {
    return wrong_input(given, "dtype: expected a number of serval_dtype, 1 to " +
                                  number(SERVAL_TIMESTAMP) + ", got " +
                                  std::to_string(given.dtype));
  }
  dtype = static_cast<DType>(given.dtype);
  if (given.rank < 0 || static_cast<size_t>(given.rank) > kRankMax) {
    return wrong_input(
        given, "rank: expected 0 to " + number(kRankMax) + ", got " + std::to_string(given.rank));
  }
  if (given.shape == nullptr && given.rank > 0) {
    return wrong_input(given, "shape: expected " + std::to_string(given.rank) + " dims, got NULL");
  }
  const auto rank = static_cast<size_t>(given.rank);
  for (size_t i = 0; i < rank; ++i) {
    if (given.shape[i] >= 0 || (ragged && rank == 2 && i == 1 && given.shape[i] == -1)) continue;
    return wrong_input(given, "shape[" + number(i) + "]: expected 0 or more" +
                                  (ragged ? ", or -1 as the last of two," : ",") + " got " +
                                  std::to_string(given.shape[i]));
  }
  shape = Shape(std::span<const int64_t>(given.shape, rank));
  return {};
}

Status read_elements(const serval_tensor& given, DType dtype, const Shape& shape, Arena& arena,
                     TensorView& out) {
  const std::optional<uint64_t> count = shape.elements();
  if (!count) return wrong_input(given, "shape " + shape.to_string() + " has too many elements");
  out = TensorView();
  out.dtype = dtype;
  out.shape = shape;
  if (is_text(dtype)) return read_texts(given, *count, arena, out);
  if (given.offsets != nullptr) {
    return wrong_input(given, "offsets: expected NULL for " + std::string(dtype_name(dtype)));
  }
  if (given.data == nullptr && given.bytes != 0) {
    return wrong_input(given, "data: expected " + number(given.bytes) + " bytes, got NULL");
  }
  const auto* data = static_cast<const uint8_t*>(given.data);
  return raw_fixed_tensor({data, given.bytes}, dtype, shape, given.name, arena, out);
}

}  // namespace serval::capi
