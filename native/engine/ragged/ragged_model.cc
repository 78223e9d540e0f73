// Binds a ragged model's tensors, joins requests and splits outputs. make(): control plane; the
// rest: hot path.
#include "engine/ragged/ragged_model.h"

#include <algorithm>
#include <utility>

#include "batch/batch_inputs.h"

namespace serval {

namespace {

constexpr uint64_t kJoinedElementsMax = UINT32_MAX;

class RaggedScratch final : public BackendScratch {
 public:
  explicit RaggedScratch(std::unique_ptr<BackendScratch> own) : inner(std::move(own)) {}
  std::span<const TensorView> outputs() const override { return results; }
  void release_outputs() override {
    results.clear();
    inner->release_outputs();
    for (GatherMemory& one : memory) {
      for (ByteBuffer& bytes : one.bytes) bytes.shrink(kGatherKeepBytes);
    }
    for (ByteBuffer& bytes : numbers) bytes.shrink(kGatherKeepBytes);
  }
  Loss loss() const override { return inner->loss(); }

  const std::unique_ptr<BackendScratch> inner;
  std::vector<TensorView> results, inputs;  // of run()
  // Memory of join(), per input of the model.
  std::vector<GatherMemory> memory;
  std::vector<ByteBuffer> numbers;
  // Lists of join(), for one input at a time.
  std::vector<TensorView> views;
  std::vector<BatchPart> parts;
  std::vector<Shape> shapes;
};

// The dims that the model's tensor has for one request.
const std::vector<int64_t>& dims_of(const TensorOverride& one) {
  return one.model_dims.empty() ? one.dims : one.model_dims;
}

const TensorOverride* find_override(const std::vector<TensorOverride>& list,
                                    const std::string& name) {
  const auto found = std::ranges::find(list, name, &TensorOverride::name);
  return found == list.end() ? nullptr : &*found;
}

const TensorView& input_at(const BatchPart& part, uint32_t index) {
  static const TensorView absent;
  return index < part.inputs.size() ? part.inputs[index] : absent;
}

}  // namespace

bool is_ragged(const ModelSpec& spec) {
  return !spec.batch_inputs.empty() || !spec.batch_outputs.empty() ||
         std::ranges::any_of(spec.inputs, &TensorOverride::ragged);
}

Status add_ragged(const ModelSpec& spec, MemoryBudget* budget,
                  std::vector<std::shared_ptr<BackendModel>>& replicas) {
  if (!is_ragged(spec)) return {};
  for (std::shared_ptr<BackendModel>& replica : replicas) {
    Result<std::shared_ptr<RaggedModel>> made = RaggedModel::make(spec, budget, std::move(replica));
    if (!made.ok()) return std::move(made.error());
    replica = std::move(made.value());
  }
  return {};
}

RaggedModel::RaggedModel(const ModelSpec& spec, MemoryBudget* budget,
                         std::shared_ptr<BackendModel> inner)
    : name_(spec.name),
      budget_(budget),
      inner_(std::move(inner)),
      batch_inputs_(spec.batch_inputs),
      info_(inner_->info()) {}

Error RaggedModel::wrong(const std::string& what) const {
  return make_error(ErrorCode::ModelInvalid, "model '" + name_ + "': " + what);
}

Result<std::shared_ptr<RaggedModel>> RaggedModel::make(const ModelSpec& spec, MemoryBudget* budget,
                                                       std::shared_ptr<BackendModel> inner) {
  auto model = std::make_shared<RaggedModel>(spec, budget, std::move(inner));
  BackendModelInfo& info = model->info_;
  if (info.table != nullptr || spec.backend == "null" || !spec.ensemble.empty() || spec.sequence) {
    return model->wrong(
        "ragged batches: expected a model of tensors without sequences (ONNX, TensorFlow, "
        "TensorRT)");
  }
  info.signatures.resize(1);
  info.rows.clear();
  info.takes_device_memory = false;
  model->inputs_.resize(info.signatures[0].inputs.size());
  model->outputs_.resize(info.signatures[0].outputs.size());
  if (Status bound = model->bind_ragged(spec); !bound.ok()) return std::move(bound.error());
  for (const BatchInput& one : model->batch_inputs_) {
    if (Status bound = model->bind_computed(one); !bound.ok()) return std::move(bound.error());
  }
  if (Status hidden = model->hide_computed(); !hidden.ok()) return std::move(hidden.error());
  for (const BatchOutput& one : spec.batch_outputs) {
    Status bound = model->bind_scattered(one, spec);
    if (!bound.ok()) return std::move(bound.error());
  }
  return model;
}

// Gives clients the shapes of the configuration instead of the model's flat ones.
Status RaggedModel::bind_ragged(const ModelSpec& spec) {
  for (const TensorOverride& one : spec.inputs) {
    if (!one.ragged) continue;
    const std::string place = "input '" + one.name + "': allow_ragged_batch: ";
    const int found = info_.signatures[0].find_input(one.name);
    if (found < 0) return wrong(place + "the model has no such input");
    TensorSpec& input = info_.signatures[0].inputs[static_cast<size_t>(found)];
    if (one.optional) return wrong(place + "expected an input that is not optional");
    const bool is_flat = input.dims.size() == 1 && input.dims[0] == -1;
    if (!input.unknown_rank && !is_flat) {
      return wrong(place + "expected a model that takes the elements of all requests in shape " +
                   "[-1], the model has " + dims_text(input));
    }
    input.unknown_rank = false;
    input.unchecked = false;
    input.dims = dims_of(one);
    input.symbols.assign(input.dims.size(), "");
    inputs_[static_cast<size_t>(found)].ragged = true;
  }
  return {};
}

Status RaggedModel::bind_computed(const BatchInput& from) {
  const std::string place = "batch_input '" + from.input + "': ";
  const int found = info_.signatures[0].find_input(from.input);
  if (found < 0) return wrong(place + "the model has no such input");
  const TensorSpec& input = info_.signatures[0].inputs[static_cast<size_t>(found)];
  Input& own = inputs_[static_cast<size_t>(found)];
  if (own.computed != nullptr || own.ragged) return wrong(place + "expected each input once");
  if (input.dtype != from.datatype) {
    return wrong(place + "data_type: the model has " + std::string(dtype_name(input.dtype)) +
                 ", got " + std::string(dtype_name(from.datatype)));
  }
  const size_t rank = from.kind == fb::BatchInputKind::ItemShape ? 2 : 1;
  if (!input.unknown_rank && (input.dims.size() != rank || input.dims[0] != -1)) {
    return wrong(place + "expected " + std::to_string(rank) + (rank == 1 ? " dim" : " dims") +
                 ", the first one free, the model has " + dims_text(input));
  }
  own.computed = &from;
  return {};
}

// Removes the computed inputs from the signature, and numbers those that are left.
Status RaggedModel::hide_computed() {
  std::vector<TensorSpec>& inputs = info_.signatures[0].inputs;
  std::vector<TensorSpec> visible;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs_[i].computed != nullptr) continue;
    inputs_[i].visible = static_cast<uint32_t>(visible.size());
    ragged_.push_back(inputs_[i].ragged);
    visible.push_back(std::move(inputs[i]));
  }
  inputs = std::move(visible);
  for (Input& one : inputs_) {
    if (one.computed == nullptr) continue;
    Result<uint32_t> source =
        source_of("batch_input '" + one.computed->input + "': ", one.computed->source);
    if (!source.ok()) return std::move(source.error());
    one.source = source.value();
    const TensorSpec& spec = inputs[one.source];
    const bool shapes = one.computed->kind >= fb::BatchInputKind::ItemShape;
    if (shapes && !spec.unknown_rank && spec.dims.empty()) {
      return wrong("batch_input '" + one.computed->input + "': source_input '" + spec.name +
                   "' has no dimension");
    }
  }
  return {};
}

Result<uint32_t> RaggedModel::source_of(const std::string& place, const std::string& name) const {
  const Signature& signature = info_.signatures[0];
  const int found = signature.find_input(name);
  if (found < 0) return wrong(place + "source_input '" + name + "': clients send no such input");
  if (signature.inputs[static_cast<size_t>(found)].may_be_absent) {
    return wrong(place + "source_input '" + name + "': expected an input that is not optional");
  }
  return static_cast<uint32_t>(found);
}

Status RaggedModel::bind_scattered(const BatchOutput& from, const ModelSpec& spec) {
  const std::string place = "batch_output '" + from.output + "': ";
  Signature& signature = info_.signatures[0];
  const int found = signature.find_output(from.output);
  if (found < 0) return wrong(place + "the model has no such output");
  Output& own = outputs_[static_cast<size_t>(found)];
  if (own.scattered) return wrong(place + "expected each output once");
  Result<uint32_t> source = source_of(place, from.source);
  if (!source.ok()) return std::move(source.error());
  const TensorOverride* const given = find_override(spec.outputs, from.output);
  if (given == nullptr || given->dims.empty()) {
    return wrong(place + "expected its dims in the configuration");
  }
  own = {true, source.value(), dims_of(*given)};
  const TensorSpec& input = signature.inputs[own.source];
  for (size_t i = 0; i < own.dims.size(); ++i) {
    if (own.dims[i] >= 0 || input.unknown_rank || i < input.dims.size()) continue;
    return wrong(place + "its free dim " + std::to_string(i) + " is that of source_input '" +
                 input.name + "', which has " + std::to_string(input.dims.size()) + " dims");
  }
  TensorSpec& output = signature.outputs[static_cast<size_t>(found)];
  output.unknown_rank = false;
  output.dims = own.dims;
  output.symbols.assign(own.dims.size(), "");
  return {};
}

std::unique_ptr<BackendScratch> RaggedModel::make_scratch() {
  auto scratch = std::make_unique<RaggedScratch>(inner_->make_scratch());
  scratch->memory.resize(inputs_.size());
  for (GatherMemory& one : scratch->memory) one.budget = budget_;
  for (size_t i = 0; i < inputs_.size(); ++i) scratch->numbers.emplace_back().charge_to(budget_);
  return scratch;
}

// Requests whose ragged inputs have equal numbers of elements, as for values and their weights, are
// not joined with others: those could complete each other's inputs to a valid batch, and shift the
// elements of the rest.
bool RaggedModel::may_join(std::span<const TensorView> a, std::span<const TensorView> b) const {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!ragged_[i]) {
      if (!same_batch(a.subspan(i, 1), b.subspan(i, 1), false)) return false;
    } else if (a[i].dtype != b[i].dtype || a[i].shape.rank() != b[i].shape.rank()) {
      return false;
    }
    for (size_t k = 0; ragged_[i] && k < i; ++k) {
      if (ragged_[k] && (a[i].shape.elements() == a[k].shape.elements()) !=
                            (b[i].shape.elements() == b[k].shape.elements())) {
        return false;
      }
    }
  }
  return true;
}

// Hot path: run (ragged). See ragged_model.h.
Status RaggedModel::join(std::span<const BatchPart> parts, BackendScratch& scratch,
                         std::vector<TensorView>& inputs) const {
  auto& work = static_cast<RaggedScratch&>(scratch);
  inputs.assign(inputs_.size(), TensorView());
  std::vector<TensorView> joined;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& own = inputs_[i];
    if (own.computed != nullptr) {
      work.shapes.clear();
      for (const BatchPart& part : parts) work.shapes.push_back(input_at(part, own.source).shape);
      Status made = make_batch_input(*own.computed, work.shapes, work.numbers[i], inputs[i]);
      if (!made.ok()) return made;
      continue;
    }
    const TensorView& first = input_at(parts[0], own.visible);
    if (first.dtype == DType::Invalid) continue;  // all requests omit it
    if (parts.size() == 1 && !own.ragged) {
      inputs[i] = first;
      continue;
    }
    work.views.clear();
    work.parts.clear();
    work.views.reserve(parts.size());
    uint64_t rows = 0;
    for (const BatchPart& part : parts) {
      TensorView& view = work.views.emplace_back(input_at(part, own.visible));
      uint64_t count = part.rows;
      if (own.ragged) {
        count = view.shape.elements().value_or(0);
        view.shape.clear();
        (void)view.shape.push_back(static_cast<int64_t>(count));
      }
      rows += count;
      if (rows > kJoinedElementsMax) {
        return invalid_argument("a batch has " + std::to_string(rows) + " elements of input '" +
                                info_.signatures[0].inputs[own.visible].name +
                                "', expected at most " + std::to_string(kJoinedElementsMax));
      }
      work.parts.push_back({{&view, 1}, 0, static_cast<uint32_t>(count)});
    }
    Status gathered =
        gather(work.parts, static_cast<uint32_t>(rows), false, work.memory[i], joined);
    if (!gathered.ok()) return gathered;
    inputs[i] = joined[0];
  }
  return {};
}

Status RaggedModel::run_joined(std::span<const TensorView> inputs,
                               std::span<const uint32_t> output_indices, BackendScratch& scratch,
                               const RunOptions& options) {
  auto& work = static_cast<RaggedScratch&>(scratch);
  work.results.clear();
  Status ran = inner_->run(0, inputs, output_indices, *work.inner, options);
  if (!ran.ok()) return ran;
  const std::span<const TensorView> outputs = work.inner->outputs();
  work.results.assign(outputs.begin(), outputs.end());
  return {};
}

Status RaggedModel::run(uint32_t, std::span<const TensorView> inputs,
                        std::span<const uint32_t> output_indices, BackendScratch& scratch,
                        const RunOptions& options) {
  auto& work = static_cast<RaggedScratch&>(scratch);
  const BatchPart part{inputs, 0, 1};
  Status done = join({&part, 1}, scratch, work.inputs);
  if (done.ok()) done = run_joined(work.inputs, output_indices, scratch, options);
  if (!done.ok()) return done;
  for (size_t i = 0; i < work.results.size(); ++i) {
    const Output& own = outputs_[output_indices[i]];
    if (!own.scattered) continue;
    const Shape shape = shape_in(own, part);
    if (shape.elements() != work.results[i].shape.elements()) {
      return make_error(ErrorCode::BackendFailed,
                        "output '" + info_.signatures[0].outputs[output_indices[i]].name +
                            "' has shape " + work.results[i].shape.to_string() +
                            ", expected the elements of " + shape.to_string() + ": input '" +
                            info_.signatures[0].inputs[own.source].name + "' determines it");
    }
    work.results[i].shape = shape;
  }
  return {};
}

Shape RaggedModel::shape_in(const Output& output, const BatchPart& part) const {
  const Shape& source = input_at(part, output.source).shape;
  Shape shape(output.dims);
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] < 0) shape.set(i, i < source.rank() ? source[i] : 1);
  }
  return shape;
}

// A request's elements of a scattered output follow from dims that it claims; a request may claim
// others' elements. So they must be the same multiple of its source's elements for all.
bool RaggedModel::scatters(const Output& output, std::span<const BatchPart> parts,
                           const Shape& whole) const {
  uint64_t all = 0, all_sources = 0;
  const auto elements_in = [&](const BatchPart& part, uint64_t& own, uint64_t& source) {
    const std::optional<uint64_t> count = shape_in(output, part).elements();
    own = count.value_or(UINT64_MAX);
    source = input_at(part, output.source).shape.elements().value_or(UINT64_MAX);
    return own <= kJoinedElementsMax && source <= kJoinedElementsMax;
  };
  uint64_t own = 0, source = 0;
  for (const BatchPart& part : parts) {
    if (!elements_in(part, own, source)) return false;
    all += own;
    all_sources += source;
    if (all > kJoinedElementsMax || all_sources > kJoinedElementsMax) return false;
  }
  if (whole.elements() != all) return false;
  const bool is_claimed = std::ranges::any_of(output.dims, [](int64_t dim) { return dim < 0; });
  return !is_claimed || std::ranges::all_of(parts, [&](const BatchPart& part) {
    return elements_in(part, own, source) && own * all_sources == source * all;
  });
}

bool RaggedModel::can_split(std::span<const BatchPart> parts,
                            std::span<const uint32_t> output_indices,
                            std::span<const TensorView> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& own = outputs_[output_indices[i]];
    const Shape& shape = outputs[i].shape;
    if (own.scattered) {
      if (!scatters(own, parts, shape)) return false;
      continue;
    }
    int64_t rows = 0;
    for (const BatchPart& part : parts) rows += part.rows;
    if (shape.rank() == 0 || shape[0] != rows) return false;
  }
  return true;
}

// Hot path: encode (ragged). See ragged_model.h.
void RaggedModel::split(const BatchPart& part, std::span<const uint32_t> output_indices,
                        std::span<const TensorView> outputs, std::vector<uint32_t>& begins,
                        std::vector<TensorView>& out) const {
  begins.resize(outputs.size());
  out.clear();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& own = outputs_[output_indices[i]];
    TensorView whole = outputs[i];
    uint32_t count = part.rows;
    Shape shape;
    if (own.scattered) {
      shape = shape_in(own, part);
      count = static_cast<uint32_t>(shape.elements().value_or(0));
      const auto elements = static_cast<int64_t>(whole.shape.elements().value_or(0));
      whole.shape = Shape({&elements, 1});
    }
    TensorView& own_rows = out.emplace_back(slice_rows(whole, begins[i], count));
    if (own.scattered) own_rows.shape = shape;
    begins[i] += count;
  }
}

}  // namespace serval
