// One input tensor of a V1 predict body, collected value by value from a parsed document. Control
// plane of the hot path (plain decoder); any thread.
#pragma once

#include "codec/request.h"
#include "codec/serving/json_body.h"

namespace serval {

// Source: tfserving.md 1.5, 1.10; upstream's util/json_tensor.cc (AddInstanceItem,
// FillTensorProto).
class PlainTensor {
 public:
  // `values`: the number of append() calls to follow. `rank_max`: of one value.
  PlainTensor(const TensorSpec& spec, uint64_t values, size_t rank_max)
      : spec_(&spec), values_(values), rank_max_(rank_max) {}

  // Adds one value: a scalar, or lists nested to any depth below rank_max.
  // Errors: invalid_argument (type, range, ragged lists, or a count or shape that differs from the
  // first value's); unimplemented if the dtype has no JSON form.
  Status append(const PlainBody& body, const JsonNode& value);

  // The number of append() calls.
  uint64_t values() const { return given_; }
  // The tensor of a single value; call after the only append().
  TensorView whole() const;
  // The tensor of all values: a new first dimension counts them.
  TensorView batch() const;

 private:
  Status reserve(const PlainBody& body);
  Status fill(const PlainBody& body, const JsonNode& value, size_t level);
  Status leaf(const PlainBody& body, const JsonNode& value);
  Status text_leaf(const PlainBody& body, const JsonNode& value);
  template <typename T>
  Status integer_leaf(const PlainBody& body, const JsonNode& value);
  Status compare_with_first() const;
  TensorView view(const Shape& shape) const;
  template <typename T>
  void store(T value);

  const TensorSpec* spec_;
  uint64_t values_;
  uint64_t given_ = 0;
  size_t rank_max_;
  bool first_ = true;
  Shape first_shape_;
  uint64_t first_count_ = 0;
  Shape shape_;            // shape of the value being read
  uint64_t count_ = 0;     // its elements so far
  uint64_t total_ = 0;     // elements of all values so far
  uint64_t capacity_ = 0;  // elements that memory was reserved for
  uint8_t* data_ = nullptr;
  std::string_view* strings_ = nullptr;
};

}  // namespace serval
