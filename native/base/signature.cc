// Looks up tensors of a signature and checks shapes. Hot path, any thread.
#include "base/signature.h"

namespace serval {

namespace {

int find(const std::vector<TensorSpec>& specs, std::string_view name) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool takes_rank(const TensorSpec& spec, size_t rank) {
  return rank >= spec.rank_min && (spec.rank_max == 0 || rank <= spec.rank_max);
}

// "MatMul: input 'x' of shape [4] where [-1,4] is declared: expected 2 dims"
Error wrong_rank(const TensorSpec& spec, const Shape& shape) {
  std::string text = spec.rank_of.empty() ? "" : spec.rank_of + ": ";
  text += "input '" + spec.name + "' of shape " + shape.to_string();
  if (!spec.unknown_rank) text += " where " + dims_text(spec) + " is declared";
  text += ": expected " + std::to_string(spec.rank_min);
  if (spec.rank_max != spec.rank_min) text += " or more";
  return invalid_argument(text + " dims");
}

}  // namespace

std::string dims_text(const TensorSpec& spec) {
  std::string text = "[";
  for (size_t i = 0; i < spec.dims.size(); ++i) {
    if (i) text += ',';
    text += std::to_string(spec.dims[i]);
  }
  return text + "]";
}

int Signature::find_input(std::string_view wanted) const { return find(inputs, wanted); }
int Signature::find_output(std::string_view wanted) const { return find(outputs, wanted); }

size_t Signature::required_inputs() const {
  size_t count = inputs.size();
  while (count > 0 && inputs[count - 1].may_be_absent) --count;
  return count;
}

Method Signature::method() const {
  if (method_name.empty() || method_name == "tensorflow/serving/predict") return Method::Predict;
  if (method_name == "tensorflow/serving/classify") return Method::Classify;
  if (method_name == "tensorflow/serving/regress") return Method::Regress;
  return Method::Other;
}

bool fits_declared(const TensorSpec& spec, const Shape& shape) {
  bool fits = !spec.unknown_rank && spec.dims.size() == shape.rank();
  for (size_t i = 0; fits && i < spec.dims.size(); ++i) {
    fits = spec.dims[i] < 0 || spec.dims[i] == shape[i];
  }
  return fits;
}

Status check_shape(const TensorSpec& spec, const Shape& shape) {
  if (!takes_rank(spec, shape.rank())) return wrong_rank(spec, shape);
  if (spec.unknown_rank || spec.unchecked || fits_declared(spec, shape)) return {};
  return invalid_argument("unexpected shape for input '" + spec.name + "': expected " +
                          dims_text(spec) + ", got " + shape.to_string());
}

}  // namespace serval
