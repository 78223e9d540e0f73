// Runs batches on a session. Hot path, any thread.
#include "backend/onnxruntime/session.h"

#include <algorithm>
#include <cstring>

#include "backend/onnxruntime/signature.h"

namespace serval::ort {
namespace {

uint8_t no_bytes = 0;  // address of tensors without elements

// The initial content of our output memory; if a run leaves it, the output was not written.
constexpr uint8_t kUnwritten[8] = {0xa5, 0x5a, 0xa5, 0x5a, 0xa5, 0x5a, 0xa5, 0x5a};

// Whether the output's declared shape is a function of the inputs' shapes: every dim is a number or
// a symbol of some input. An output that is an input by name is passed through by the runtime,
// which does not write to memory given for it.
bool is_fixed_by_inputs(const TensorSpec& output, const Signature& signature) {
  if (output.unknown_rank || output.dtype == DType::Bytes) return false;
  if (signature.find_input(output.name) >= 0) return false;
  for (size_t i = 0; i < output.dims.size(); ++i) {
    if (output.dims[i] >= 0) continue;
    const std::string& symbol = output.symbols[i];
    const bool known = std::any_of(
        signature.inputs.begin(), signature.inputs.end(), [&symbol](const TensorSpec& input) {
          return std::find(input.symbols.begin(), input.symbols.end(), symbol) !=
                 input.symbols.end();
        });
    if (symbol.empty() || !known) return false;
  }
  return true;
}

constexpr ErrorCode kSessionFailed = ErrorCode::BackendFailed;

GraphNames graph_names(const Signature& signature, GraphNames names) {
  if (!names.inputs.empty() || !names.outputs.empty()) return names;
  for (const TensorSpec& input : signature.inputs) names.inputs.push_back(input.name);
  for (const TensorSpec& output : signature.outputs) names.outputs.push_back(output.name);
  return names;
}

Error output_error(Error error, const TensorSpec& spec) {
  error.message = "output \"" + spec.name + "\": " + error.message;
  return error;
}

}  // namespace

OrtScratch::OrtScratch(const OrtApi& api, size_t input_count, std::unique_ptr<GpuIo> gpu)
    : api_(api),
      gpu_(std::move(gpu)),
      run_options_(&api),
      inputs_(input_count),
      input_values_(input_count) {
  drop_status(api_, api_.CreateRunOptions(run_options_.out()));
  use_own();
}

OrtScratch::~OrtScratch() {
  drop_outputs();
  for (OwnOutput& own : own_outputs_) {
    if (own.value != nullptr) api_.ReleaseValue(own.value);
  }
  for (Input& input : inputs_) drop_input(input);
}

void OrtScratch::drop_input(Input& input) {
  if (input.value != nullptr) api_.ReleaseValue(input.value);
  input.value = nullptr;
  input.string_bytes = 0;
}

// The graph's default value is used for this input.
void OrtScratch::leave_out(size_t index) {
  all_fed_ = false;
  if (input_values_[index] == nullptr) return;
  same_shapes_ = false;
  drop_input(inputs_[index]);
  input_values_[index] = nullptr;
}

// The runtime checks between two operators, including those of a loop's body.
void OrtScratch::end_run() {
  if (options_ == nullptr) return;
  drop_status(api_, api_.RunOptionsSetTerminate(options_));
}

void OrtScratch::forget_end() {
  if (options_ == nullptr) return;
  drop_status(api_, api_.RunOptionsUnsetTerminate(options_));
}

// Releases the runtime's output values; our own are kept.
void OrtScratch::drop_outputs() {
  for (size_t i = 0; i < output_values_.size(); ++i) {
    if (output_values_[i] != nullptr && !own_outputs_[i].given) {
      api_.ReleaseValue(output_values_[i]);
    }
    output_values_[i] = nullptr;
    own_outputs_[i].given = false;
  }
  has_outputs_ = false;
}

void OrtScratch::release_outputs() {
  drop_outputs();
  for (StringOutput& strings : strings_) strings.bytes.shrink(kKeptValueBytes);
  for (Input& input : inputs_) {
    if (input.string_bytes > kKeptValueBytes) drop_input(input);
  }
}

// Provides our memory for an output with the shape of the previous run. On any failure the runtime
// allocates the output.
void OrtScratch::give_own_output(const OrtRuntime& runtime, size_t position) {
  const TensorView& view = views_[position];
  OwnOutput& own = own_outputs_[position];
  if (view.bytes == 0 || view.bytes > kKeptValueBytes) return;
  if (own.value == nullptr || !(own.shape == view.shape)) {
    if (own.value != nullptr) api_.ReleaseValue(own.value);
    own.value = nullptr;
    own.memory.clear();
    uint8_t* memory = own.memory.grow(view.bytes);
    if (memory == nullptr) return;
    own.shape = view.shape;
    drop_status(api_, api_.CreateTensorWithDataAsOrtValue(runtime.cpu_memory, memory, view.bytes,
                                                          own.shape.dims().data(), own.shape.rank(),
                                                          element_type_of(view.dtype), &own.value));
    if (own.value == nullptr) return;
  }
  std::memcpy(own.memory.data(), kUnwritten, std::min(own.memory.size(), sizeof kUnwritten));
  own.given = true;
  output_values_[position] = own.value;
}

bool OrtScratch::gave_own_outputs() const {
  return std::any_of(own_outputs_.begin(), own_outputs_.end(),
                     [](const OwnOutput& own) { return own.given; });
}

bool OrtScratch::own_outputs_were_written() const {
  return std::all_of(own_outputs_.begin(), own_outputs_.end(), [](const OwnOutput& own) {
    return !own.given || std::memcmp(own.memory.data(), kUnwritten,
                                     std::min(own.memory.size(), sizeof kUnwritten)) != 0;
  });
}

// Makes a view over the caller's bytes; the runtime does not write to inputs. Kept between runs: a
// listener's arena often returns the same address, which saves 95 ns each.
OrtStatus* OrtScratch::bind_fixed(const OrtRuntime& runtime, const TensorView& view, size_t index) {
  Input& input = inputs_[index];
  const bool same_shape = input.value != nullptr && input.shape == view.shape;
  if (same_shape && input.data == view.data) return nullptr;
  same_shapes_ &= same_shape;
  drop_input(input);
  input.shape = view.shape;
  input.data = view.data;
  void* data = view.bytes == 0 ? &no_bytes : const_cast<uint8_t*>(view.data);
  OrtStatus* failed = api_.CreateTensorWithDataAsOrtValue(
      runtime.cpu_memory, data, view.bytes, view.shape.dims().data(), view.shape.rank(),
      element_type_of(view.dtype), &input.value);
  input_values_[index] = input.value;
  return failed;
}

// Copies the strings, by length, into a value of the runtime; a value of the same shape is
// refilled, and its strings keep their capacity.
OrtStatus* OrtScratch::bind_strings(const OrtRuntime& runtime, const TensorView& view,
                                    size_t index) {
  Input& input = inputs_[index];
  if (input.value == nullptr || !(input.shape == view.shape)) {
    same_shapes_ = false;
    drop_input(input);
    input.shape = view.shape;
    OrtStatus* failed =
        api_.CreateTensorAsOrtValue(runtime.allocator, view.shape.dims().data(), view.shape.rank(),
                                    ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &input.value);
    input_values_[index] = input.value;
    if (failed != nullptr) return failed;
  }
  size_t total = 0;
  for (size_t i = 0; i < view.strings.size(); ++i) {
    const std::string_view text = view.strings[i];
    char* place = nullptr;
    OrtStatus* failed =
        api_.GetResizedStringTensorElementBuffer(input.value, i, text.size(), &place);
    if (failed != nullptr) return failed;
    if (!text.empty()) std::memcpy(place, text.data(), text.size());
    total += text.size();
  }
  // the runtime's strings keep their capacity
  input.string_bytes = std::max(input.string_bytes, total);
  return nullptr;
}

void OrtScratch::select_outputs(std::span<const uint32_t> indices, const GraphNames& names) {
  drop_outputs();
  if (std::equal(indices.begin(), indices.end(), output_indices_.begin(), output_indices_.end())) {
    return;
  }
  for (OwnOutput& own : own_outputs_) {
    if (own.value != nullptr) api_.ReleaseValue(own.value);
  }
  shapes_known_ = false;
  if (gpu_ != nullptr) gpu_->clear_outputs();
  output_indices_.assign(indices.begin(), indices.end());
  output_names_.clear();
  for (uint32_t index : indices) output_names_.push_back(names.outputs[index].c_str());
  output_values_.assign(indices.size(), nullptr);
  own_outputs_.clear();
  own_outputs_.resize(indices.size());
  views_.resize(indices.size());
  strings_.resize(indices.size());
}

OrtModel::OrtModel(const OrtRuntime& runtime, SessionHandle session, BackendModelInfo info,
                   bool cpu_only, GraphNames names, std::unique_ptr<StateUses> states,
                   std::unique_ptr<GpuDevice> gpu, std::vector<uint32_t> graph_rows)
    : runtime_(runtime),
      api_(*runtime.api),
      session_(std::move(session)),
      info_(std::move(info)),
      names_(graph_names(info_.signatures.front(), std::move(names))),
      states_(std::move(states)),
      reuse_outputs_(cpu_only && states_ == nullptr),
      gpu_(std::move(gpu)) {
  const Signature& signature = info_.signatures.front();
  for (const std::string& name : names_.inputs) input_names_.push_back(name.c_str());
  for (const TensorSpec& output : signature.outputs) {
    fixed_by_inputs_.push_back(is_fixed_by_inputs(output, signature));
  }
  info_.takes_device_memory = gpu_ != nullptr && states_ == nullptr;
  if (gpu_ != nullptr && states_ == nullptr && !graph_rows.empty()) {
    graphs_ = std::make_unique<GraphRules>(std::move(graph_rows));
  }
}

void OrtModel::add_size(uint32_t rows, SessionHandle session) {
  sizes_.push_back({rows, std::move(session)});
}

std::unique_ptr<BackendScratch> OrtModel::make_scratch() {
  {
    const std::lock_guard<std::mutex> lock(first_mutex_);
    if (first_ != nullptr) return std::move(first_);
  }
  std::unique_ptr<GpuIo> io;
  if (gpu_ != nullptr) {
    io = std::make_unique<GpuIo>(runtime_, *gpu_, session_.get(), input_names_.size());
  }
  auto scratch = std::make_unique<OrtScratch>(api_, input_names_.size(), std::move(io));
  scratch->own_session_ = session_.get();
  scratch->use_own();
  scratch->sized_.resize(sizes_.size());
  if (graphs_ != nullptr) warm_graphs(*scratch);
  return scratch;
}

Status OrtModel::bind_inputs(std::span<const TensorView> inputs, OrtScratch& scratch) const {
  const Signature& signature = info_.signatures.front();
  const std::vector<TensorSpec>& specs = signature.inputs;
  if (inputs.size() > specs.size() || inputs.size() < signature.required_inputs()) {
    return make_error(ErrorCode::Internal, "a batch of " + std::to_string(inputs.size()) +
                                               " inputs for a model of " +
                                               std::to_string(specs.size()));
  }
  scratch.same_shapes_ = scratch.all_fed_ = true;
  for (size_t i = inputs.size(); i < specs.size(); ++i) scratch.leave_out(i);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype == DType::Invalid) {
      scratch.leave_out(i);
      continue;
    }
    OrtStatus* failed = inputs[i].dtype == DType::Bytes
                            ? scratch.bind_strings(runtime_, inputs[i], i)
                            : scratch.bind_fixed(runtime_, inputs[i], i);
    if (failed == nullptr) continue;
    scratch.drop_input(scratch.inputs_[i]);  // so that the next run's shapes count as changed
    return take_error(api_, failed, ErrorCode::InvalidArgument, "input \"" + specs[i].name + "\"");
  }
  return ok_status();
}

// If the inputs have the same shapes as in the previous run, so have the outputs that the model
// declares to depend on them; the runtime then writes them to our memory, which saves allocations
// and calls: 1435 ns per run instead of 1700 on half_plus_three, where a bare Run with the release
// of its output takes 1640 (AMD EPYC, one thread, ORT 1.30).
void OrtModel::give_own_outputs(OrtScratch& scratch) const {
  if (!scratch.same_shapes_ || !scratch.shapes_known_) return;
  if (!reuse_outputs_.load(std::memory_order_relaxed)) return;
  for (size_t i = 0; i < scratch.output_indices_.size(); ++i) {
    if (fixed_by_inputs_[scratch.output_indices_[i]]) scratch.give_own_output(runtime_, i);
  }
}

// Hot path: run. One batch through the runtime.
Status OrtModel::run(uint32_t signature, std::span<const TensorView> inputs,
                     std::span<const uint32_t> output_indices, BackendScratch& scratch_base,
                     const RunOptions& options) {
  const CancelFlag* const cancel = options.cancel;
  if (cancel != nullptr && cancel->cancelled()) {
    return make_error(ErrorCode::Cancelled, "the request was cancelled before its model ran");
  }
  if (signature >= info_.signatures.size()) {
    return make_error(ErrorCode::Internal, "no signature of index " + std::to_string(signature));
  }
  OrtScratch& scratch = static_cast<OrtScratch&>(scratch_base);
  if (graphs_ != nullptr && !scratch.says_no_graph_) [[unlikely]]
    return make_error(ErrorCode::MemoryFull, "no memory for the options of a run");
  scratch.select_outputs(output_indices, names_);
  scratch.places_ = options.places;
  if (gpu_ != nullptr && fits_gpu(inputs, output_indices)) {
    return run_on_gpu(inputs, scratch, cancel);
  }
  const auto lies_there = [](const TensorView& input) { return input.device != nullptr; };
  if (gpu_ != nullptr && std::ranges::any_of(inputs, lies_there)) {
    if (Status landed = land(inputs, scratch); !landed.ok()) return landed;
  }
  const std::unique_lock<std::mutex> turn = graph_turn();
  Status status = bind_inputs(inputs, scratch);
  if (!status.ok()) return status;
  give_own_outputs(scratch);
  status = cancel == nullptr ? call_session(scratch, nullptr) : run_until_ended(scratch, *cancel);
  for (size_t i = 0; status.ok() && i < output_indices.size(); ++i) {
    OwnOutput& own = scratch.own_outputs_[i];
    if (own.given) scratch.views_[i].data = own.memory.data();  // everything else is unchanged
    else status = view_output(scratch, i);
  }
  scratch.has_outputs_ = scratch.shapes_known_ = status.ok();
  if (!status.ok()) scratch.drop_outputs();
  return status;
}

// A failure after the flag was set is caused by the flag.
Status OrtModel::run_until_ended(OrtScratch& scratch, const CancelFlag& cancel) {
  cancel.begin_run(scratch);
  Status status = call_session(scratch, &cancel);
  cancel.leave_run(scratch);
  if (!cancel.cancelled()) return status;
  scratch.forget_end();
  if (status.ok()) return status;
  return make_error(ErrorCode::Cancelled, "the model's run was ended");
}

// Selects the inputs that are present, with their names.
void OrtModel::select_fed(OrtScratch& scratch) const {
  scratch.fed_names_.clear();
  scratch.fed_values_.clear();
  for (size_t i = 0; i < input_names_.size(); ++i) {
    if (scratch.input_values_[i] == nullptr) continue;
    scratch.fed_names_.push_back(input_names_[i]);
    scratch.fed_values_.push_back(scratch.input_values_[i]);
  }
}

OrtStatus* OrtModel::run_session(OrtScratch& scratch, const CancelFlag* cancel) {
  if (states_ == nullptr && !scratch.all_fed_) {
    select_fed(scratch);
    return api_.Run(session_.get(), scratch.run_options_.get(), scratch.fed_names_.data(),
                    scratch.fed_values_.data(), scratch.fed_values_.size(),
                    scratch.output_names_.data(), scratch.output_names_.size(),
                    scratch.output_values_.data());
  }
  if (states_ == nullptr) {
    return api_.Run(session_.get(), scratch.run_options_.get(), input_names_.data(),
                    scratch.input_values_.data(), scratch.input_values_.size(),
                    scratch.output_names_.data(), scratch.output_names_.size(),
                    scratch.output_values_.data());
  }
  return states_->run(runtime_, session_.get(),
                      {scratch.run_options_.get(), cancel, input_names_, scratch.input_values_,
                       scratch.output_names_, scratch.output_values_});
}

// A model that contradicts its declared shapes (the runtime checks those of memory given to it), or
// whose outputs are not all written, is run again without our memory, and never gets it again.
Status OrtModel::call_session(OrtScratch& scratch, const CancelFlag* cancel) {
  OrtStatus* failed = run_session(scratch, cancel);
  if (failed == nullptr && scratch.own_outputs_were_written()) return ok_status();
  if (scratch.gave_own_outputs()) {
    drop_status(api_, failed);
    scratch.drop_outputs();
    failed = run_session(scratch, cancel);
    if (failed == nullptr) {
      reuse_outputs_.store(false, std::memory_order_relaxed);
      return ok_status();
    }
  }
  std::vector<FedInput> fed;
  const std::vector<TensorSpec>& specs = info_.signatures.front().inputs;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (scratch.input_values_[i] != nullptr) fed.push_back({specs[i], scratch.inputs_[i].shape});
  }
  return run_error(api_, failed, fed);
}

// Takes 3 ns with the call of 1.24, 52 ns without.
OrtStatus* OrtModel::read_type_and_shape(const OrtValue* value, OutputShape& shape) const {
  if (runtime_.has_shape_calls) {
    return api_.GetTensorElementTypeAndShapeDataReference(value, &shape.type, &shape.dims,
                                                          &shape.rank);
  }
  ShapeInfoHandle info(&api_);
  OrtStatus* failed = api_.GetTensorTypeAndShape(value, info.out());
  if (failed == nullptr) failed = api_.GetTensorElementType(info.get(), &shape.type);
  if (failed == nullptr) failed = api_.GetDimensionsCount(info.get(), &shape.rank);
  if (failed == nullptr) {
    failed = api_.GetDimensions(info.get(), shape.copied, std::min(shape.rank, kRankMax));
  }
  shape.dims = shape.copied;
  return failed;
}

Status OrtModel::read_strings(const OrtValue* value, size_t count, StringOutput& strings) const {
  size_t total = 0;
  strings.views.clear();
  if (count == 0) return ok_status();
  OrtStatus* failed = api_.GetStringTensorDataLength(value, &total);
  if (failed != nullptr) return take_error(api_, failed, kSessionFailed, "strings");
  strings.bytes.clear();
  char* text = reinterpret_cast<char*>(strings.bytes.grow(total));
  if (text == nullptr) {
    return make_error(kSessionFailed,
                      "no memory for " + std::to_string(total) + " bytes of strings");
  }
  strings.offsets.resize(count + 1);
  failed = api_.GetStringTensorContent(value, text, total, strings.offsets.data(), count);
  if (failed != nullptr) return take_error(api_, failed, kSessionFailed, "strings");
  strings.offsets[count] = total;
  strings.views.resize(count);
  for (size_t i = 0; i < count; ++i) {
    strings.views[i] = {text + strings.offsets[i], strings.offsets[i + 1] - strings.offsets[i]};
  }
  return ok_status();
}

// Reads type, shape and size of an output.
Status OrtModel::view_shape(OrtScratch& scratch, size_t position) const {
  const TensorSpec& spec = info_.signatures.front().outputs[scratch.output_indices_[position]];
  TensorView& view = scratch.views_[position];
  OutputShape shape;
  OrtStatus* failed = read_type_and_shape(scratch.output_values_[position], shape);
  if (failed != nullptr)
    return output_error(take_error(api_, failed, kSessionFailed, "no tensor"), spec);
  view.dtype = dtype_of(shape.type);
  view.shape = Shape({shape.dims, std::min(shape.rank, kRankMax)});
  const std::optional<uint64_t> elements = view.shape.elements();
  if (view.dtype != spec.dtype || shape.rank > kRankMax || !elements) {
    return output_error(
        make_error(kSessionFailed, "expected " + std::string(dtype_name(spec.dtype)) +
                                       " of rank up to " + std::to_string(kRankMax) +
                                       ", got element type " +
                                       std::to_string(static_cast<int>(shape.type)) + " of rank " +
                                       std::to_string(shape.rank)),
        spec);
  }
  view.bytes = *elements * dtype_bytes(view.dtype);
  return ok_status();
}

// Views an output that is on the host.
Status OrtModel::view_output(OrtScratch& scratch, size_t position) const {
  if (Status shaped = view_shape(scratch, position); !shaped.ok()) return shaped;
  const TensorSpec& spec = info_.signatures.front().outputs[scratch.output_indices_[position]];
  OrtValue* value = scratch.output_values_[position];
  TensorView& view = scratch.views_[position];
  view.device = nullptr;
  if (view.dtype == DType::Bytes) {
    StringOutput& strings = scratch.strings_[position];
    Status status = read_strings(value, *view.shape.elements(), strings);
    if (!status.ok()) return output_error(std::move(status.error()), spec);
    view.data = nullptr;
    view.strings = strings.views;
    return status;
  }
  void* data = nullptr;
  OrtStatus* failed = api_.GetTensorMutableData(value, &data);
  if (failed != nullptr)
    return output_error(take_error(api_, failed, kSessionFailed, "no bytes"), spec);
  view.data = static_cast<const uint8_t*>(data);
  view.strings = {};
  return ok_status();
}

}  // namespace serval::ort
