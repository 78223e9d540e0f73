// Rules of convolutions, pooling and other windows over images and signals. See rule.h.
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

void need_first_axis(const Value& data) {
  if (data.varies() && data.axis != 0) couples("its windows span the batch axis");
}

// [N, C, ...] -> [N, `channels`, unknown sizes].
Value window_output(Call& call, const Value& data, const Dim& channels) {
  need_first_axis(data);
  const size_t rank = call.rank(0);
  if (rank < 2) unproven("the input has no channels");
  Dims out = call.fresh_dims(rank);
  out[0] = call.dims(0)[0];
  out[1] = channels;
  return moved(data, std::move(out), 0);
}

int64_t entry(const std::vector<int64_t>* list, size_t at, int64_t fallback) {
  return list != nullptr && at < list->size() ? (*list)[at] : fallback;
}

// The output size of a window over a known size; nullopt if it is unknown.
std::optional<int64_t> window_size(Call& call, size_t at, size_t spatial, int64_t size,
                                   int64_t kernel) {
  const int64_t stride = entry(call.integers("strides"), at, 1);
  const int64_t dilation = entry(call.integers("dilations"), at, 1);
  const std::string_view mode = call.text("auto_pad", "NOTSET");
  if (stride <= 0) return std::nullopt;
  if (mode.starts_with("SAME")) return (size + stride - 1) / stride;
  const bool valid = mode == "VALID";
  const std::vector<int64_t>* pads = call.integers("pads");
  const int64_t padding = valid ? 0 : entry(pads, at, 0) + entry(pads, at + spatial, 0);
  const int64_t room = size + padding - ((kernel - 1) * dilation + 1);
  if (room < 0) return std::nullopt;
  const bool up = call.integer("ceil_mode", 0) != 0;
  if (up && room % stride != 0) return std::nullopt;  // the last window may be dropped
  return room / stride + 1;
}

void set_sizes(Call& call, Value& out, const Dims& data, const std::vector<int64_t>& kernel) {
  for (size_t i = 2; i < data.size() && i - 2 < kernel.size(); ++i) {
    if (!data[i].is_number()) continue;
    const auto size = window_size(call, i - 2, data.size() - 2, data[i].number, kernel[i - 2]);
    if (size) (*out.dims)[i] = *size;
  }
}

// The kernel's sizes, from the attribute or from the weights.
std::vector<int64_t> kernel_of(Call& call, const Dims* weights) {
  if (const std::vector<int64_t>* shape = call.integers("kernel_shape")) return *shape;
  std::vector<int64_t> kernel;
  for (size_t i = 2; weights != nullptr && i < weights->size(); ++i) {
    if (!(*weights)[i].is_number()) return {};
    kernel.push_back((*weights)[i].number);
  }
  return kernel;
}

void convolution(Call& call) {
  // Conv (X, W, B); ConvInteger (X, W, zeros); QLinearConv (X, scale, zero, W, ...).
  const size_t weights = call.op() == "QLinearConv" ? 3 : 1;
  for (size_t i = 1; i < call.count(); ++i) {
    if (call.op() == "FusedConv" && i == 3) continue;
    call.need_same(i, "the weights");
  }
  const Dims* shape = call.in(weights).dims ? &*call.in(weights).dims : nullptr;
  const bool known = shape != nullptr && !shape->empty();
  Value out = window_output(call, call.in(0), known ? (*shape)[0] : call.fresh());
  set_sizes(call, out, call.dims(0), kernel_of(call, shape));
  if (call.op() == "FusedConv" && call.has(3)) {
    const Value* const values[] = {&out, &call.in(3)};
    out = broadcast(call, values);
  }
  call.set(0, std::move(out));
}

void transposed(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "the weights");
  const Value& weights = call.in(1);
  const int64_t group = call.integer("group", 1);
  Dim channels = call.fresh();
  if (weights.dims && weights.rank() > 1) channels = (*weights.dims)[1] * Dim(group);
  Value out = window_output(call, call.in(0), channels);
  const std::vector<int64_t> kernel = kernel_of(call, weights.dims ? &*weights.dims : nullptr);
  const std::vector<int64_t>* sizes = call.integers("output_shape");
  const std::vector<int64_t>* pads = call.integers("pads");
  const Dims& data = call.dims(0);
  const size_t spatial = data.size() - 2;
  for (size_t i = 0; i < spatial && i < kernel.size(); ++i) {
    if (sizes != nullptr && sizes->size() >= spatial) {
      (*out.dims)[i + 2] = (*sizes)[sizes->size() - spatial + i];
      continue;
    }
    if (!data[i + 2].is_number()) continue;
    const int64_t stride = entry(call.integers("strides"), i, 1), size = data[i + 2].number;
    const std::string_view mode = call.text("auto_pad", "NOTSET");
    if (mode.starts_with("SAME")) {
      (*out.dims)[i + 2] = size * stride;
      continue;
    }
    const int64_t dilation = entry(call.integers("dilations"), i, 1);
    const int64_t padding = mode == "VALID" ? 0 : entry(pads, i, 0) + entry(pads, i + spatial, 0);
    (*out.dims)[i + 2] = stride * (size - 1) + entry(call.integers("output_padding"), i, 0) +
                         (kernel[i] - 1) * dilation + 1 - padding;
  }
  call.set(0, std::move(out));
}

// (X, W, offset, B, mask).
void deformed(Call& call) {
  call.need_same(1, "the weights");
  call.need_same(3, "the weights");
  if (call.all_same()) return;
  for (const size_t i : {size_t{0}, size_t{2}, size_t{4}}) {
    if (!call.has(i)) continue;
    const bool own =
        call.in(i).is_rows() && call.in(i).axis == 0 && call.dims(i)[0] == call.dims(0)[0];
    if (!own) couples("the offsets do not belong to the same rows");
  }
  const Dims& weights = call.dims(1);
  call.set(0, window_output(call, call.in(0), weights.empty() ? call.fresh() : weights[0]));
}

void pooling(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a scale");
  const Value& data = call.in(0);
  const bool last = call.integer("channels_last", 0) != 0;
  need_first_axis(data);
  if (last) {
    Dims out = call.fresh_dims(call.rank(0));
    out[0] = call.dims(0)[0];
    return call.set(0, moved(data, std::move(out), 0));
  }
  if (call.rank(0) < 2) unproven("the input has no channels");
  Value out = window_output(call, data, call.dims(0)[1]);
  if (call.op().find("Global") != std::string_view::npos) {
    for (size_t i = 2; i < out.rank(); ++i) (*out.dims)[i] = 1;
  } else {
    set_sizes(call, out, call.dims(0), kernel_of(call, nullptr));
  }
  call.set(0, std::move(out));
  if (call.output_count() < 2 || !data.varies()) return;
  if (call.node().outputs[1].empty()) return;
  Value places = Value::mixed(
      std::make_shared<Why>(Why{true, "the indices that MaxPool returns count all rows"}));
  call.set(1, std::move(places));
}

// Output sizes are unknown; rows on the first axis.
void pictures(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  const Value& data = call.in(0);
  need_first_axis(data);
  size_t rank = call.rank(0);
  if (call.op() == "Col2Im") {
    const Value& size = call.in(1);
    if (!size.dims || size.rank() != 1 || !(*size.dims)[0].is_number()) unproven("its sizes");
    rank = 2 + static_cast<size_t>((*size.dims)[0].number);
  }
  Dims out = call.fresh_dims(rank);
  out[0] = call.dims(0)[0];
  call.set(0, moved(data, std::move(out), 0));
}

// DFT (input, length, axis) and STFT (signal, step, window, length).
void transform(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  const Value& data = call.in(0);
  const size_t rank = call.rank(0);
  if (call.op() == "STFT") {
    need_first_axis(data);
    Dims out = call.fresh_dims(4);
    out[0] = call.dims(0)[0];
    return call.set(0, moved(data, std::move(out), 0));
  }
  int64_t axis = call.opset() < 20 ? call.integer("axis", 1) : -2;
  if (call.has(2)) {
    const std::optional<std::vector<int64_t>> given = call.numbers(2);
    if (!given || given->size() != 1) unproven("the axis is computed");
    axis = given->front();
  }
  const size_t along = axis_of(axis, rank);
  if (data.varies() && (along == data.axis || data.axis + 1 == rank)) {
    couples("the transform spans the batch axis");
  }
  Dims out = call.dims(0);
  out[along] = call.fresh();
  out.back() = call.fresh();
  call.set(0, moved(data, std::move(out), data.axis));
}

}  // namespace

std::vector<Rule> window_rules() {
  const char* const family = "Windows";
  const char* const says = "The rows are on the first axis; weights and scales are constants.";
  return {
      {family, says, "", {"Conv", "ConvInteger", "QLinearConv"}, convolution},
      {family, says, "com.microsoft", {"FusedConv", "QLinearConv"}, convolution},
      {family, says, "", {"ConvTranspose"}, transposed},
      {family,
       "The rows are on the first axis of image, offsets and mask.",
       "",
       {"DeformConv"},
       deformed},
      {family,
       "The rows are on the first axis. The indices that MaxPool returns count all rows.",
       "",
       {"AveragePool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LpPool", "MaxPool"},
       pooling},
      {family, says, "com.microsoft", {"QLinearAveragePool", "QLinearGlobalAveragePool"}, pooling},
      {family, "The rows are on the first axis.", "", {"Col2Im"}, pictures},
      {family, "The rows are on the first axis.", "", {"STFT"}, transform},
      {family, "It works along an axis other than the batch axis.", "", {"DFT"}, transform},
  };
}

}  // namespace serval::rows
