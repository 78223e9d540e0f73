// What a model takes and gives. Immutable after load; any thread.
// (In base, not engine: codecs decode against it. See docs/decisions/0001.)
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
  std::vector<std::string> symbols;  // per dim, "" where it has no symbolic name
  bool unknown_rank = false;
  // `dims` are what the signature says, not what the graph needs: no protocol checks shapes against
  // them (TensorFlow does not). Source: tfserving.md 1.5 "Shape and signature".
  bool unchecked = false;
  // Ranks of an input that an operator behind it takes, also where it is unchecked. A rank_max of 0
  // is none; rank_of "" is the graph itself.
  uint8_t rank_min = 0, rank_max = 0;
  std::string rank_of;
  // SignatureDef.defaults: what is fed where a request leaves the input out. Null = required. The
  // pointer keeps the tensor's memory too (aliasing constructor).
  std::shared_ptr<const TensorView> default_value;
  // An input that the graph itself has a value for: a request may leave it out, over any protocol,
  // and the backend then gets a view of DType::Invalid. Such inputs stand behind the others.
  bool may_be_absent = false;
  std::vector<std::string> labels;  // outputs: classes' names that the model itself has
};

// Whether the rows of a batch keep apart, read from the graph of a signature.
using RowsVerdict = fb::RowsVerdict;

struct RowsProof {
  RowsVerdict verdict = RowsVerdict::Unknown;
  std::string text;  // the first node that couples rows or that has no rule, and why
  bool operator==(const RowsProof&) const = default;
};

// What TensorFlow Serving's verbs may ask of a signature (SignatureDef.method_name).
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
  // How many inputs every request must have: those in front.
  size_t required_inputs() const;
};

// The declared shape, "[-1,4]".
std::string dims_text(const TensorSpec& spec);

// Whether the shape has the declared rank and dims; false too where the rank is not known.
bool fits_declared(const TensorSpec& spec, const Shape& shape);

// Errors: invalid_argument naming the input, the expected and the given shape.
// Source: v2-protocol.md 1.1 "shape does not match the model": 400.
Status check_shape(const TensorSpec& spec, const Shape& shape);

}  // namespace serval
