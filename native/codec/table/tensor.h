// A tensor of a request for a tabular model, as read from a protocol, before it is compared with
// the model. Hot path; any thread. Views of the body and the arena.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/tensor.h"
#include "codec/json/echo.h"

namespace serval::table {

// Tensor parameters of the extension. Source: tabular.md 2.1 X4, X14, X18, X23.
inline constexpr std::string_view kFeaturesKey = "features";
inline constexpr std::string_view kPrecisionKey = "precision";
inline constexpr std::string_view kScaleKey = "scale";
inline constexpr std::string_view kFormatKey = "format";
inline constexpr std::string_view kNullIndicesKey = "null_indices";
inline constexpr std::string_view kIsoFormat = "iso8601";

// Request parameters of the extension. Source: tabular.md 2.1 X24, X30, 2.4.
inline constexpr std::string_view kStrictKey = "strict";
inline constexpr std::string_view kOnInvalidKey = "on_invalid";
inline constexpr std::string_view kGroupOutputsKey = "group_outputs";
inline constexpr std::string_view kStringDatatypeKey = "string_datatype";

// Suffix to a ragged tensor's name that names the tensor of its rows' lengths.
inline constexpr std::string_view kCompanionSuffix = "_shape";

struct TensorParameters {
  bool has_features = false, has_null_indices = false, has_format = false;
  bool has_precision = false, has_scale = false;
  uint8_t precision = 0, scale = 0;
  std::string_view features, null_indices, format;

  bool is_decimal() const { return has_precision; }
  bool is_iso() const { return format == kIsoFormat; }
  bool any() const {
    return has_features || has_null_indices || is_iso() || has_precision || has_scale;
  }
};

inline constexpr uint32_t kNoTensor = UINT32_MAX;

// A cell is the content of one field in one row: a value, or a vector or list of them.
struct RequestTensor {
  std::string_view name;
  DType dtype = DType::Invalid;  // the datatype in the request: never Decimal
  Shape shape;                   // the last of three dims may be -1
  TensorParameters parameters;

  // Set by the reader: the elements, in the carrier of `dtype`.
  uint64_t elements = 0;
  const uint8_t* data = nullptr;
  const std::string_view* strings = nullptr;
  uint8_t* nulls = nullptr;           // per cell, 1 if it is null; null = none
  const uint32_t* lengths = nullptr;  // per cell, for nested data without a companion

  // Set by the binder.
  uint32_t companion = kNoTensor;  // index of the tensor with its lengths
  bool is_companion = false;
  bool is_matrix = false;                   // it has all fields of the model: TableSchema::matrix
  bool has_cells = false;                   // its cells are vectors or lists
  uint64_t rows = 0, fields = 0, size = 0;  // size: elements per cell, unless ragged
  uint32_t first_name = 0;

  bool is_ragged() const { return shape.rank() == 3 && shape[2] < 0; }
  uint64_t cells() const { return rows * fields; }
};

// The type of a tensor's elements on the wire and in memory before they are interpreted: text for
// dates, doubles for vectors.
constexpr DType carrier_of(DType dtype) {
  if (dtype == DType::Vector) return DType::Fp64;
  return dtype_is_tabular(dtype) ? DType::Bytes : dtype;
}

// Supplies the elements of tensors. Errors of all: those of the decoders.
class TensorSource {
 public:
  // Fills `tensor` with exactly `elements` elements.
  virtual Status read(size_t index, uint64_t elements, RequestTensor& tensor) = 0;
  // The same for a ragged tensor without a companion, whose data may be nested: also fills its
  // lengths.
  virtual Status read_nested(size_t index, RequestTensor& tensor) = 0;
  // Whether text is known to be UTF-8.
  virtual bool text_is_checked() const = 0;

 protected:
  ~TensorSource() = default;
};

// Follows the tensor's name: rows are assembled from fields, which cannot be in shared memory.
inline constexpr std::string_view kNoSharedMemory =
    ": shared memory is only supported for tensor models; this model has fields";

inline std::string quoted(std::string_view name) { return "'" + echo_text(name) + "'"; }

inline std::string input_text(const RequestTensor& tensor) {
  return "input " + quoted(tensor.name);
}

inline Error no_memory() { return make_error(ErrorCode::MemoryFull, "no memory for the request"); }

// The error for anything over a limit kTable....
inline Error over_limit(const std::string& what, uint64_t got, uint64_t limit) {
  return make_error(ErrorCode::BodyTooLarge, what + ": expected at most " + std::to_string(limit) +
                                                 ", got " + std::to_string(got));
}

}  // namespace serval::table
