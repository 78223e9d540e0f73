// Rules of operators that select or add parts of axes. See rule.h.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

using ort::for_fields;

constexpr int64_t kFarAway = std::numeric_limits<int32_t>::max();

struct Cut {
  size_t axis = 0;
  std::optional<Dim> start, end, step;
};

// Starts, ends, axes and steps, from attributes (opset 1) or inputs.
std::vector<Cut> cuts_of(Call& call, size_t rank) {
  const auto list = [&call](std::string_view name, size_t input) -> std::optional<Dims> {
    if (const std::vector<int64_t>* found = call.integers(name)) {
      return Dims(found->begin(), found->end());
    }
    return call.has(input) ? call.in(input).cells : std::nullopt;
  };
  const std::optional<Dims> starts = list("starts", 1), ends = list("ends", 2);
  const std::optional<Dims> axes = list("axes", 3), steps = list("steps", 4);
  if (!axes && call.has(3)) unproven("the axes are computed");
  size_t count = axes ? axes->size() : 0;
  if (!axes) {
    if (starts) count = starts->size();
    else if (ends) count = ends->size();
    else if (call.dims(1).size() == 1 && call.dims(1)[0].is_number()) {
      count = static_cast<size_t>(call.dims(1)[0].number);
    } else {
      unproven("the axes are not known");
    }
  }
  std::vector<Cut> cuts(count);
  for (size_t i = 0; i < count; ++i) {
    if (axes && !(*axes)[i].is_number()) unproven("the axes are computed");
    cuts[i].axis = axis_of(axes ? (*axes)[i].number : static_cast<int64_t>(i), rank);
    if (starts && i < starts->size()) cuts[i].start = (*starts)[i];
    if (ends && i < ends->size()) cuts[i].end = (*ends)[i];
    if (steps && i < steps->size()) cuts[i].step = (*steps)[i];
    if (!steps && !call.has(4)) cuts[i].step = 1;
  }
  return cuts;
}

bool is_whole(const Cut& cut, const Dim& size) {
  const bool from_first = cut.start && cut.start->is(0) && cut.step && cut.step->is(1);
  if (!from_first || !cut.end) return false;
  return *cut.end == size || (cut.end->is_number() && cut.end->number >= kFarAway);
}

// The size after a cut.
Dim size_of(Call& call, const Cut& cut, const Dim& size) {
  if (is_whole(cut, size)) return size;
  if (!cut.start || !cut.end || !cut.step || !cut.step->is(1)) return call.fresh();
  if (!size.is_number() || !cut.start->is_number() || !cut.end->is_number()) return call.fresh();
  const auto clamped = [&size](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size.number : at, 0, size.number);
  };
  return std::max<int64_t>(0, clamped(cut.end->number) - clamped(cut.start->number));
}

// Slices integers that are all known, along their one axis.
void slice_cells(Call& call, const Value& data, std::span<const Cut> cuts) {
  if (data.rank() != 1 || cuts.size() > 1) couples("it splits the number of rows");
  Dims cells = *data.cells;
  for (const Cut& cut : cuts) {
    const bool known = cut.start && cut.end && cut.step && cut.start->is_number() &&
                       cut.end->is_number() && cut.step->is_number();
    if (!known || cut.step->number == 0) couples("it splits the number of rows");
    const auto size = static_cast<int64_t>(cells.size());
    const bool forward = cut.step->number > 0;
    const auto at = [&](const Dim& dim) {
      const int64_t place = dim.number < 0 ? dim.number + size : dim.number;
      return forward ? std::clamp<int64_t>(place, 0, size)
                     : std::clamp<int64_t>(place, -1, size - 1);
    };
    const int64_t end = cut.end->number < -size ? (forward ? 0 : -1) : at(*cut.end);
    Dims taken;
    for (int64_t i = at(*cut.start); forward ? i < end : i > end; i += cut.step->number) {
      taken.push_back(cells[static_cast<size_t>(i)]);
    }
    cells = std::move(taken);
  }
  const auto size = static_cast<int64_t>(cells.size());
  call.set(0, Value::integers({size}, std::move(cells)));
}

void slice(Call& call) {
  const Value& data = call.in(0);
  if (data.kind == Kind::Columns) couples("it moves numbers of rows");
  const std::vector<Cut> cuts = cuts_of(call, call.rank(0));
  if (data.kind == Kind::Counts) return slice_cells(call, data, cuts);
  Dims out = call.dims(0);
  for (const Cut& cut : cuts) {
    const Dim size = out[cut.axis];
    if (data.varies() && cut.axis == data.axis) {
      if (is_whole(cut, size)) continue;
      couples("it selects some of the rows");
    }
    out[cut.axis] = size_of(call, cut, size);
    if (cut.start && cut.start->power != 0) couples("its start depends on the number of rows");
    const bool ends_with_rows = cut.end && cut.end->power != 0;
    if (ends_with_rows) couples("its end depends on the number of rows");
  }
  for (size_t i = 1; i < call.count(); ++i) {
    if (call.has(i) && call.in(i).kind != Kind::Counts) call.need_same(i, "the length");
  }
  if (data.cells && data.rank() == 1 && call.all_same()) {
    const bool known = std::all_of(cuts.begin(), cuts.end(), [](const Cut& cut) {
      return cut.start && cut.end && cut.step && cut.start->is_number() && cut.end->is_number() &&
             cut.step->is_number() && cut.step->number != 0;
    });
    if (known && cuts.size() == 1) return slice_cells(call, data, cuts);
  }
  call.set(0, moved(data, std::move(out), data.axis));
}

void pad(Call& call) {
  const Value& data = call.in(0);
  const Dims& dims = call.dims(0);
  const size_t rank = dims.size();
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "the padding");
  std::optional<std::vector<int64_t>> pads = call.numbers(1);
  for (const char* name : {"pads", "paddings"}) {
    if (const std::vector<int64_t>* given = call.integers(name)) pads = *given;
  }
  std::vector<int64_t> axes;
  if (call.has(3)) {
    const std::optional<std::vector<int64_t>> given = call.numbers(3);
    if (!given) unproven("the axes are computed");
    axes = *given;
  } else {
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  }
  // Individual amounts may be computed, but not that of the rows' axis.
  const auto amount = [&](size_t at) -> std::optional<int64_t> {
    if (pads) return at < pads->size() ? std::optional((*pads)[at]) : std::nullopt;
    if (!call.has(1) || !call.in(1).cells || at >= call.in(1).cells->size()) return std::nullopt;
    const Dim& cell = (*call.in(1).cells)[at];
    return cell.is_number() ? std::optional(cell.number) : std::nullopt;
  };
  Dims out = dims;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axis_of(axes[i], rank);
    const std::optional<int64_t> before = amount(i), behind = amount(i + axes.size());
    const bool none = before && behind && *before == 0 && *behind == 0;
    if (none) continue;
    if (data.varies() && axis == data.axis) {
      if (before && behind) couples("it adds rows");
      unproven("the padding of the batch axis is computed");
    }
    const bool known = before && behind && dims[axis].is_number();
    out[axis] = known ? Dim(dims[axis].number + *before + *behind) : call.fresh();
  }
  Value padded = moved(data, std::move(out), data.axis);
  padded.stride = {};
  call.set(0, std::move(padded));
}

// The floats of a constant.
std::optional<std::vector<float>> floats_of(const Value& value) {
  const ort::OnnxTensor* tensor = value.tensor;
  if (tensor == nullptr || tensor->type != ort::OnnxType::Float || tensor->external) {
    return std::nullopt;
  }
  std::vector<float> out;
  ort::Bytes bytes = tensor->raw;
  const bool read = bytes.empty() && for_fields(tensor->bytes, [&](const WireField& field) {
                      if (field.number() != ort::TensorProto::kFloatData) return true;
                      if (field.type() == WireType::Bytes) bytes = field.bytes;
                      return field.type() == WireType::Bytes;
                    });
  if (bytes.empty() && !read) return std::nullopt;
  out.resize(bytes.size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

// Whether the axis of the rows keeps its size.
bool keeps_rows(Call& call, const Value& data, size_t at, size_t scales, size_t sizes) {
  if (call.has(sizes) && call.in(sizes).cells) {
    const Dims& cells = *call.in(sizes).cells;
    if (at < cells.size() && cells[at] == (*data.dims)[data.axis]) return true;
    if (!cells.empty()) return false;
  }
  if (!call.has(scales)) return false;
  const std::optional<std::vector<float>> factors = floats_of(call.in(scales));
  return factors && at < factors->size() && (*factors)[at] == 1.0F;
}

void resize(Call& call) {
  const Value& data = call.in(0);
  const bool old = call.op() == "Upsample" || call.opset() < 11;
  const size_t scales = old ? 1 : 2, sizes = old ? 99 : 3;
  for (size_t i = 1; i < call.count(); ++i) {
    if (i != sizes) call.need_same(i, "the scale");
  }
  if (call.has(sizes) && call.in(sizes).kind != Kind::Counts) call.need_same(sizes, "the size");
  Dims out = call.fresh_dims(call.rank(0));
  if (!data.varies()) return call.set(0, Value::same(std::move(out)));
  size_t at = data.axis;
  bool among = true;
  if (const std::vector<int64_t>* axes = call.integers("axes")) {
    among = false;
    for (size_t i = 0; i < axes->size(); ++i) {
      if (axis_of((*axes)[i], out.size()) != data.axis) continue;
      among = true;
      at = i;
    }
  }
  if (call.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    unproven("it crops by a region");
  }
  if (call.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    unproven("the scale depends on the sizes of all axes");
  }
  if (among && !keeps_rows(call, data, at, scales, sizes)) {
    unproven("the batch axis may change its size");
  }
  if (call.has(sizes) && call.in(sizes).cells) {
    for (size_t i = 0; i < call.in(sizes).cells->size(); ++i) {
      const Dim& cell = (*call.in(sizes).cells)[i];
      if (i == at && among) continue;
      if (cell.power != 0) couples("the number of rows becomes the size of another axis");
      if (call.integers("axes") == nullptr && i < out.size()) out[i] = cell;
    }
  }
  out[data.axis] = call.dims(0)[data.axis];
  call.set(0, Value::rows(std::move(out), data.axis));
}

void compress(Call& call) {
  const Value& data = call.in(0);
  const ort::OnnxAttribute* axis = call.node().attribute("axis");
  call.need_same(1, "the condition");
  if (!data.varies()) return call.set(0, Value::same());
  if (axis == nullptr) couples("it flattens the rows and drops entries");
  const size_t along = axis_of(axis->integer, call.rank(0));
  if (along == data.axis) couples("it drops rows");
  Dims out = call.dims(0);
  out[along] = call.fresh();
  call.set(0, Value::rows(std::move(out), data.axis));
}

}  // namespace

std::vector<Rule> selection_rules() {
  const char* const family = "Parts of axes";
  return {
      {family,
       "It works along axes other than the batch axis, with lengths that are the same for all "
       "rows.",
       "",
       {"Slice"},
       slice,
       true},
      {family, "Nothing is added on the batch axis.", "", {"Pad"}, pad},
      {family, "Nothing is added on the batch axis.", "com.microsoft", {"Pad"}, pad},
      {family,
       "The batch axis keeps its size: its scale is 1, or its size N.",
       "",
       {"Resize", "Upsample"},
       resize,
       true},
      {family,
       "It works along another axis, by a condition that is the same for all rows.",
       "",
       {"Compress"},
       compress},
  };
}

}  // namespace serval::rows
