// The inputs and outputs of a model. Data, immutable after load; any thread. (In base, not engine:
// codecs decode against it. See docs/decisions/0001.)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/tensor.h"

namespace serval {

struct TensorSpec {
  std::string name;
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;         // -1 = free
  std::vector<std::string> symbols;  // per dim, "" if it has no symbolic name
  bool unknown_rank = false;
  // `dims` are those of the signature, not the graph's requirement: no protocol checks shapes
  // against them (TensorFlow does not). Source: tfserving.md 1.5 "Shape and signature".
  bool unchecked = false;
  // The ranks that an operator after the input accepts, checked even if it is `unchecked`. A
  // rank_max of 0 means no limit; rank_of "" is the graph itself.
  uint8_t rank_min = 0, rank_max = 0;
  std::string rank_of;
  // SignatureDef.defaults: the value used when a request omits the input. Null = required. The
  // pointer also owns the tensor's memory (aliasing constructor).
  std::shared_ptr<const TensorView> default_value;
  // An input that the graph can do without: a request may omit it, over any protocol, and the
  // backend then gets a view of DType::Invalid. A backend returns such inputs after the others; a
  // configuration can make one of them required.
  bool may_be_absent = false;
  // An input that the graph can do without and that the configuration lists, as optional or as
  // required: if the model batches, the input has the batch's rows. No proof covers those rows.
  bool in_config = false;
  std::vector<std::string> labels;  // for outputs: class names from the model itself
};

// Whether the rows of a batch are independent, read from the graph of a signature.
using RowsVerdict = fb::RowsVerdict;

struct RowsProof {
  RowsVerdict verdict = RowsVerdict::Unknown;
  std::string text;  // the first node that couples rows or has no rule, and why
  bool operator==(const RowsProof&) const = default;
};

// The use of a signature by TensorFlow Serving's methods (SignatureDef.method_name).
enum class Method : uint8_t { Predict, Classify, Regress, Other };

struct Signature {
  std::string name;  // "serving_default"
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::string method_name;  // "tensorflow/serving/predict"; "" = the format has none

  Method method() const;

  // Index, or -1. Linear: signatures have a handful of tensors.
  int find_input(std::string_view name) const;
  int find_output(std::string_view name) const;
  // The number of leading inputs up to the last one that every request must have.
  size_t required_inputs() const;
};

// The declared shape, "[-1,4]".
std::string dims_text(const TensorSpec& spec);

// Whether the shape has the declared rank and dims; false if the rank is unknown.
bool fits_declared(const TensorSpec& spec, const Shape& shape);

// Errors: invalid_argument naming the input, the expected and the given shape.
// Source: v2-protocol.md 1.1 "shape does not match the model": 400.
Status check_shape(const TensorSpec& spec, const Shape& shape);

}  // namespace serval
