// Binds controls and states to a model's tensors, and fills them. make(): control plane; the rest:
// hot path.
#include "engine/sequence/hidden.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "batch/gather.h"
#include "codec/bytes_tensor.h"

namespace serval {

namespace {

constexpr size_t kCellBytes = sizeof(uint64_t);

class HiddenScratch final : public BackendScratch {
 public:
  explicit HiddenScratch(std::unique_ptr<BackendScratch> own) : inner(std::move(own)) {}
  uint8_t* input_place(size_t index, size_t bytes) override {
    return inner->input_place(index, bytes);
  }
  std::span<const TensorView> outputs() const override { return inner->outputs(); }
  void release_outputs() override { inner->release_outputs(); }
  Loss loss() const override { return inner->loss(); }

  const std::unique_ptr<BackendScratch> inner;
  // The memory of run().
  HiddenRow row;
  GatherMemory memory;
  std::vector<TensorView> hidden, inputs;
  std::vector<uint32_t> outputs_wanted;
};

std::string datatype_text(DType dtype) { return std::string(dtype_name(dtype)); }

DType as_bytes(DType dtype) { return dtype == DType::String ? DType::Bytes : dtype; }

// The largest id that a control of this type can hold.
uint64_t id_max(DType dtype) {
  switch (dtype) {
    case DType::Int32: return INT32_MAX;
    case DType::Uint32: return UINT32_MAX;
    case DType::Int64: return INT64_MAX;
    default: return UINT64_MAX;
  }
}

}  // namespace

SequenceModel::SequenceModel(const ModelSpec& spec, std::shared_ptr<BackendModel> inner)
    : name_(spec.name),
      inner_(std::move(inner)),
      has_rows_(spec.batch_dim),
      info_(inner_->info()) {}

Error SequenceModel::wrong(std::string_view what) const {
  return make_error(ErrorCode::ModelInvalid,
                    "model '" + name_ + "': sequence_batching: " + std::string(what));
}

Result<std::shared_ptr<SequenceModel>> SequenceModel::make(const ModelSpec& spec,
                                                           std::shared_ptr<BackendModel> inner) {
  auto model = std::make_shared<SequenceModel>(spec, std::move(inner));
  BackendModelInfo& info = model->info_;
  if (info.table != nullptr) {
    return model->wrong("expected a model of tensors, got a tabular model, which has no states");
  }
  info.signatures.resize(1);
  info.rows.clear();
  info.stateful = true;
  info.waits = true;  // its requests wait for each other, so none runs on a listener's thread
  info.takes_device_memory = false;
  model->hidden_.assign(info.signatures[0].inputs.size(), kVisible);
  for (const SequenceControl& control : spec.sequence->controls) {
    if (Status bound = model->bind_control(control); !bound.ok()) return std::move(bound.error());
  }
  for (const SequenceState& state : spec.sequence->states) {
    if (Status bound = model->bind_state(state); !bound.ok()) return std::move(bound.error());
  }
  if (Status bound = model->bind_done(spec.sequence->done_output); !bound.ok()) {
    return std::move(bound.error());
  }
  if (Status hidden = model->hide_outputs(spec); !hidden.ok()) return std::move(hidden.error());
  std::vector<TensorSpec>& inputs = info.signatures[0].inputs;
  size_t at = 0;
  std::erase_if(inputs, [&](const TensorSpec&) { return model->hidden_[at++] != kVisible; });
  if (inputs.empty()) return model->wrong("expected an input that clients send, got none");
  return model;
}

// Finds an input for a control or a state and checks its datatype.
Result<uint32_t> SequenceModel::hide_input(const std::string& name, DType dtype,
                                           const std::string& kind) {
  const Signature& signature = info_.signatures[0];
  const int found = signature.find_input(name);
  if (found < 0) return wrong(kind + ": the model has no input '" + name + "'");
  const auto index = static_cast<uint32_t>(found);
  const TensorSpec& input = signature.inputs[index];
  if (hidden_[index] != kVisible) return wrong(kind + ": input '" + name + "' is named twice");
  if (as_bytes(input.dtype) != as_bytes(dtype)) {
    return wrong(kind + ": input '" + name + "' has the datatype " + datatype_text(input.dtype) +
                 " in the model, got " + datatype_text(dtype));
  }
  hidden_[index] = static_cast<uint32_t>(controls_.size() + initial_.size());
  return index;
}

Status SequenceModel::bind_control(const SequenceControl& from) {
  Result<uint32_t> found = hide_input(from.input, from.datatype, "control_input");
  if (!found.ok()) return std::move(found.error());
  const TensorSpec& input = info_.signatures[0].inputs[found.value()];
  Control control{from.signal, input.dtype, {}};
  if (from.signal != fb::SequenceSignal::Id) {
    const size_t bytes = dtype_bytes(input.dtype);
    if (from.off.size() != bytes || from.on.size() != bytes || bytes > kCellBytes || bytes == 0) {
      return wrong("control_input: '" + from.input + "': expected two elements of " +
                   datatype_text(input.dtype) + " for false and true");
    }
    std::memcpy(&control.off, from.off.data(), bytes);
    std::memcpy(&control.on, from.on.data(), bytes);
  }
  // Triton has [batch, 1], or [1] without a batch; here a control may also lack the last dim.
  const size_t rank = input.unknown_rank ? size_t{1} + has_rows_ : input.dims.size();
  for (size_t i = 0; i < rank; ++i) (void)control.shape.push_back(1);
  const bool sized =
      std::ranges::all_of(input.dims, [](int64_t dim) { return dim == -1 || dim == 1; });
  if (rank > size_t{1} + has_rows_ || rank < size_t{has_rows_} || !sized) {
    return wrong("control_input: '" + from.input + "': expected shape " +
                 (has_rows_ ? "[-1,1]" : "[1]") + ", the model has " + dims_text(input));
  }
  controls_.push_back(control);
  return {};
}

Status SequenceModel::bind_state(const SequenceState& from) {
  Result<uint32_t> found = hide_input(from.input, from.datatype, "state");
  if (!found.ok()) return std::move(found.error());
  const Signature& signature = info_.signatures[0];
  const int output = signature.find_output(from.output);
  if (output < 0) return wrong("state: the model has no output '" + from.output + "'");
  const auto index = static_cast<uint32_t>(output);
  const TensorSpec& made = signature.outputs[index];
  if (as_bytes(made.dtype) != as_bytes(from.datatype)) {
    return wrong("state: output '" + from.output + "' has the datatype " +
                 datatype_text(made.dtype) + " in the model, got " + datatype_text(from.datatype));
  }
  if (std::ranges::find(state_outputs_, index) != state_outputs_.end()) {
    return wrong("state: output '" + from.output + "' is named twice");
  }
  state_outputs_.push_back(index);
  state_inputs_.push_back(signature.inputs[found.value()]);
  return read_initial(from, signature.inputs[found.value()]);
}

Status SequenceModel::read_initial(const SequenceState& from, const TensorSpec& input) {
  TensorView view;
  view.dtype = input.dtype;
  const std::string where = "state: input '" + from.input + "': ";
  bool sized = !has_rows_ || view.shape.push_back(1);
  for (const int64_t dim : from.dims) sized = sized && dim >= 0 && view.shape.push_back(dim);
  const std::optional<uint64_t> elements = view.shape.elements();
  if (!sized || !elements || *elements > kTableElementsMax) {
    return wrong(where + "expected dims of an initial value, got " + Shape(from.dims).to_string());
  }
  if (!check_shape(input, view.shape).ok()) {
    return wrong(where + "the initial value has shape " + view.shape.to_string() +
                 ", the model expects " + dims_text(input));
  }
  const bool is_text = dtype_is_text(input.dtype);
  view.bytes = is_text ? 0 : *elements * dtype_bytes(input.dtype);
  const size_t size = from.initial.empty() ? view.bytes : from.initial.size();
  auto* const place = arena_.allocate_array<uint8_t>(std::max<size_t>(1, size));
  if (place == nullptr) return wrong(where + "no memory for the initial value");
  if (from.initial.empty()) std::memset(place, 0, size);
  else std::memcpy(place, from.initial.data(), size);
  if (!is_text) {
    if (size != view.bytes) {
      return wrong(where + "expected " + std::to_string(view.bytes) + " bytes for " +
                   datatype_text(input.dtype) + " of shape " + view.shape.to_string() + ", got " +
                   std::to_string(size));
    }
    view.data = place;
  } else if (!from.initial.empty()) {
    const Status read = decode_raw_bytes({place, size}, *elements, from.input, arena_, view);
    if (!read.ok()) return wrong(where + "the initial value: " + read.error().message);
  } else {
    auto* const texts = arena_.allocate_array<std::string_view>(std::max<size_t>(1, *elements));
    if (texts == nullptr) return wrong(where + "no memory for the initial value");
    std::fill_n(texts, *elements, std::string_view());
    view.strings = {texts, static_cast<size_t>(*elements)};
  }
  initial_.push_back(view);
  return {};
}

Status SequenceModel::bind_done(const std::string& name) {
  if (name.empty()) return {};
  const Signature& signature = info_.signatures[0];
  const int found = signature.find_output(name);
  if (found < 0) return wrong("serval.done_output: the model has no output '" + name + "'");
  const DType dtype = signature.outputs[static_cast<size_t>(found)].dtype;
  if (dtype != DType::Bool && dtype != DType::Int32 && dtype != DType::Int64) {
    return wrong("serval.done_output: expected an output of BOOL, INT32 or INT64, '" + name +
                 "' has " + datatype_text(dtype));
  }
  done_output_ = static_cast<uint32_t>(found);
  return {};
}

Result<bool> SequenceModel::is_done(const TensorView& done) const {
  if (done.shape.elements().value_or(0) != 1 || done.bytes != dtype_bytes(done.dtype)) {
    return make_error(ErrorCode::BackendFailed,
                      "the model failed: its output of serval.done_output: expected one element " +
                          std::string(has_rows_ ? "for each row" : "in all") + ", got shape " +
                          done.shape.to_string());
  }
  return std::any_of(done.data, done.data + done.bytes, [](uint8_t byte) { return byte != 0; });
}

Status SequenceModel::blame_states(std::span<const TensorView> states, Status failed) const {
  for (size_t i = 0; i < states.size() && i < state_inputs_.size(); ++i) {
    const TensorSpec& input = state_inputs_[i];
    if (check_shape(input, states[i].shape).ok()) continue;
    return make_error(ErrorCode::BackendFailed,
                      "the model failed: it made a state of shape " + states[i].shape.to_string() +
                          " for the input '" + input.name + "', which expects " + dims_text(input));
  }
  return failed;
}

// Outputs of states, and the one that says whether a request is done, are returned only if the
// configuration lists them.
Status SequenceModel::hide_outputs(const ModelSpec& spec) {
  std::vector<TensorSpec>& outputs = info_.signatures[0].outputs;
  std::vector<TensorSpec> visible;
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const bool is_own =
        i == done_output_ || std::ranges::find(state_outputs_, i) != state_outputs_.end();
    const bool listed = std::ranges::any_of(
        spec.outputs, [&](const TensorOverride& one) { return one.name == outputs[i].name; });
    if (is_own && !listed) continue;
    outputs_.push_back(i);
    visible.push_back(std::move(outputs[i]));
  }
  outputs = std::move(visible);
  if (outputs.empty()) return wrong("expected an output that clients get, got none");
  return {};
}

std::unique_ptr<BackendScratch> SequenceModel::make_scratch() {
  return std::make_unique<HiddenScratch>(inner_->make_scratch());
}

Status SequenceModel::check_id(const SequenceId& id) const {
  for (const Control& control : controls_) {
    if (control.signal != fb::SequenceSignal::Id) continue;
    const bool wants_text = dtype_is_text(control.dtype);
    if (wants_text != id.is_text) {
      return invalid_argument("sequence_id: expected " +
                              std::string(wants_text ? "a string" : "an integer") +
                              ", which the model takes as " + datatype_text(control.dtype) +
                              ", got " + (id.is_text ? "a string" : "an integer"));
    }
    if (!id.is_text && id.number > id_max(control.dtype)) {
      return invalid_argument("sequence_id: expected at most " +
                              std::to_string(id_max(control.dtype)) +
                              ", because the model takes it as " + datatype_text(control.dtype) +
                              ", got " + std::to_string(id.number));
    }
  }
  return {};
}

void SequenceModel::set_controls(const RowSignals& signals, HiddenRow& row) const {
  const size_t count = controls_.size();
  row.cells.resize(count);
  row.texts.resize(count);
  row.views.resize(count + initial_.size());
  for (size_t i = 0; i < count; ++i) {
    const Control& control = controls_[i];
    TensorView& view = row.views[i];
    view = TensorView{control.dtype, control.shape, nullptr, 0, {}};
    bool on = false;
    switch (control.signal) {
      case fb::SequenceSignal::Start: on = signals.start; break;
      case fb::SequenceSignal::Ready: on = signals.ready; break;
      case fb::SequenceSignal::End: on = signals.end; break;
      case fb::SequenceSignal::Id: break;
    }
    row.cells[i] = on ? control.on : control.off;
    if (dtype_is_text(control.dtype)) {
      row.texts[i] = signals.id == nullptr ? std::string_view() : signals.id->text;
      view.strings = {&row.texts[i], 1};
      continue;
    }
    // Little-endian: the first bytes of the number are those of a narrower one.
    if (control.signal == fb::SequenceSignal::Id && signals.id != nullptr) {
      row.cells[i] = signals.id->number;
    }
    view.data = reinterpret_cast<const uint8_t*>(&row.cells[i]);
    view.bytes = dtype_bytes(control.dtype);
  }
}

void SequenceModel::set_states(std::span<const TensorView> states, HiddenRow& row) const {
  const std::span<const TensorView> from = states.empty() ? initial_ : states;
  std::copy(from.begin(), from.end(),
            row.views.begin() + static_cast<std::ptrdiff_t>(controls_.size()));
}

void SequenceModel::arrange(std::span<const TensorView> visible, std::span<const TensorView> hidden,
                            std::vector<TensorView>& inputs) const {
  inputs.resize(hidden_.size());
  size_t next = 0;
  for (size_t i = 0; i < hidden_.size(); ++i) {
    if (hidden_[i] != kVisible) {
      inputs[i] = hidden[hidden_[i]];
    } else {
      inputs[i] = next < visible.size() ? visible[next] : TensorView();
      ++next;
    }
  }
}

Status SequenceModel::run_whole(std::span<const TensorView> inputs,
                                std::span<const uint32_t> output_indices, BackendScratch& scratch,
                                const RunOptions& options) {
  BackendScratch& own = *static_cast<HiddenScratch&>(scratch).inner;
  return inner_->run(0, inputs, output_indices, own, options);
}

Status SequenceModel::run(uint32_t, std::span<const TensorView> inputs,
                          std::span<const uint32_t> output_indices, BackendScratch& scratch,
                          const RunOptions& options) {
  auto& work = static_cast<HiddenScratch&>(scratch);
  set_controls({true, true, true, nullptr}, work.row);
  set_states({}, work.row);
  work.hidden = work.row.views;
  const auto sent = std::ranges::find_if(
      inputs, [](const TensorView& one) { return one.dtype != DType::Invalid; });
  if (has_rows_ && !work.hidden.empty() && sent != inputs.end() && sent->shape.rank() != 0) {
    const BatchPart one_row{work.row.views, 0, 1};
    const auto rows = static_cast<uint32_t>(std::min<int64_t>(sent->shape[0], UINT32_MAX));
    if (rows == 0) return invalid_argument("expected at least one row, got none");
    Status repeated = gather({&one_row, 1}, rows, false, work.memory, work.hidden);
    if (!repeated.ok()) return repeated;
  }
  arrange(inputs, work.hidden, work.inputs);
  work.outputs_wanted.clear();
  for (const uint32_t index : output_indices) work.outputs_wanted.push_back(outputs_[index]);
  return run_whole(work.inputs, work.outputs_wanted, scratch, options);
}

}  // namespace serval
