// Rules of normalisations. See rule.h.
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

Value bare_normal(Value value) {
  value.cells.reset();
  value.tensor = nullptr;
  value.stride = {};
  return value;
}

void batch_normalization(Call& call) {
  const Value& data = call.in(0);
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  size_t named = 0;
  for (const std::string_view output : call.node().outputs) named += !output.empty();
  const bool training = call.opset() < 7    ? call.integer("is_test", 0) == 0
                        : call.opset() < 14 ? named > 1
                                            : call.integer("training_mode", 0) != 0;
  if (training) couples("it runs in training mode: mean and variance are those of the batch");
  if (data.varies() && data.axis == 1) couples("the rows are on the channel axis");
  call.set(0, bare_normal(data));
}

// Normalises each channel of an image.
void instance(Call& call) {
  const Value& data = call.in(0);
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  if (data.varies() && data.axis != 0) couples("the mean is computed over the rows");
  call.set(0, bare_normal(data));
}

// Normalises from an axis on. Outputs: normalised, mean, deviation.
void layer(Call& call) {
  const Value& data = call.in(0);
  const size_t rank = call.rank(0);
  const size_t axis = axis_of(call.integer("axis", -1), rank);
  if (data.varies() && data.axis >= axis) couples("the mean is computed over the rows");
  std::vector<const Value*> values;
  for (size_t i = 0; i < call.count(); ++i) {
    if (call.has(i)) values.push_back(&call.in(i));
  }
  Value out = broadcast(call, values);
  if (out.rank() != rank || out.axis != data.axis) unproven("the rank of a scale is too high");
  call.set(0, std::move(out));
  Dims means = call.dims(0);
  std::fill(means.begin() + static_cast<std::ptrdiff_t>(axis), means.end(), Dim(1));
  for (size_t i = 1; i < call.output_count(); ++i) call.set(i, moved(data, means, data.axis));
}

// (input, skip, ...constants); outputs: normalised, mean, deviation, sum. Over the last axis.
void skip_layer(Call& call) {
  const size_t rank = call.rank(0);
  std::vector<const Value*> values;
  for (size_t i = 0; i < call.count(); ++i) {
    if (!call.has(i)) continue;
    if (i > 1) call.need_same(i, "a parameter");
    values.push_back(&call.in(i));
  }
  Value out = broadcast(call, values);
  if (out.varies() && out.axis + 1 == out.rank()) couples("the mean is computed over the rows");
  if (out.rank() != rank) unproven("the inputs have different ranks");
  Dims means = *out.dims;
  means.back() = 1;
  call.set(0, out);
  for (size_t i = 1; i < 3; ++i) call.set(i, moved(out, means, out.axis));
  call.set(3, out);
}

void over_one_axis(Call& call) {
  const Value& data = call.in(0);
  const int64_t fallback = call.op() == "LRN" ? 1 : -1;
  const int64_t axis = call.op() == "LRN" ? 1 : call.integer("axis", fallback);
  if (data.varies() && axis_of(axis, call.rank(0)) == data.axis) {
    couples("the sum is computed over the rows");
  }
  call.set(0, bare_normal(data));
}

void mean_variance(Call& call) {
  const Value& data = call.in(0);
  std::vector<int64_t> axes = {0, 2, 3};
  if (const std::vector<int64_t>* given = call.integers("axes")) axes = *given;
  if (data.varies() && has_axis(axes, data.axis, call.rank(0))) {
    couples("the mean is computed over the rows");
  }
  call.set(0, bare_normal(data));
}

constexpr int64_t kSoftmaxOfOneAxis = 13;

void softmax(Call& call) {
  const Value& data = call.in(0);
  const bool one = call.opset() >= kSoftmaxOfOneAxis || !call.node().is_onnx();
  const size_t rank = call.rank(0);
  const size_t axis = axis_of(call.integer("axis", one ? -1 : 1), rank);
  if (data.varies() && (one ? axis == data.axis : axis <= data.axis)) {
    couples("the sum is computed over the rows");
  }
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  call.set(0, bare_normal(data));
}

}  // namespace

std::vector<Rule> normal_rules() {
  const char* const family = "Normalisations";
  const char* const first = "The rows are on the first axis.";
  const char* const other = "It reduces axes other than the batch axis.";
  return {
      {family,
       "Not in training mode; the rows are not on the channel axis.",
       "",
       {"BatchNormalization"},
       batch_normalization},
      {family, first, "", {"GroupNormalization", "InstanceNormalization"}, instance},
      {family, first, "com.microsoft", {"GroupNorm"}, instance},
      {family,
       "It normalizes from an axis after the batch axis on.",
       "",
       {"LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"},
       layer},
      {family,
       "It normalizes from an axis after the batch axis on.",
       "com.microsoft",
       {"SimplifiedLayerNormalization"},
       layer},
      {family,
       "The rows are not on the last axis; parameters are constants.",
       "com.microsoft",
       {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"},
       skip_layer},
      {family, other, "", {"LRN", "LpNormalization"}, over_one_axis},
      {family, other, "", {"MeanVarianceNormalization"}, mean_variance},
      {family,
       "It works along an axis other than the batch axis. Before opset 13 it sums all axes from "
       "`axis` on.",
       "",
       {"Hardmax", "LogSoftmax", "Softmax"},
       softmax},
  };
}

}  // namespace serval::rows
