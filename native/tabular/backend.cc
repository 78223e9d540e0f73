// The backend "tabular", whose models are plans. Loads on a load thread; run() on any. Request
// tensors become the columns of a frame, which is part of the scratch and keeps its memory.
#include "backend/backend.h"

#include <algorithm>
#include <string>

#include "tabular/plan.h"
#include "tabular/tensors.h"

namespace serval {
namespace {

using tabular::Frame;
using tabular::Plan;

TensorSpec tensor_spec(const FieldSpec& field) {
  TensorSpec made;
  made.name = field.name;
  made.dims = {-1};
  const plan::Type type = field.type == plan::Type::Any ? plan::Type::Double : field.type;
  const bool is_vector = type == plan::Type::Vector;
  const bool is_list = is_vector || type == plan::Type::List;
  if (is_list && field.size >= 0) made.dims.push_back(field.size);
  else if (is_list) made.dims = {-1, 1, -1};
  made.dtype = dtype_of(type == plan::Type::List ? field.element : type);
  made.symbols.resize(made.dims.size());
  return made;
}

class TabularScratch final : public BackendScratch {
 public:
  explicit TabularScratch(const Plan& plan) : frame_(plan.dictionary(), plan.column_count()) {}
  std::span<const TensorView> outputs() const override { return outputs_.views(); }
  void release_outputs() override {
    outputs_.release();
    frame_.shrink();
  }
  Frame& frame() { return frame_; }
  tabular::OutputTensors& made() { return outputs_; }

 private:
  Frame frame_;
  tabular::OutputTensors outputs_;
};

// Immutable: any thread.
class TabularModel final : public BackendModel {
 public:
  TabularModel(const ModelSpec& spec, std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {
    Signature signature;
    signature.name = "serving_default";
    const TableSchema& schema = plan_->schema();
    for (const FieldSpec& field : schema.fields) signature.inputs.push_back(tensor_spec(field));
    for (const FieldSpec& output : schema.outputs) {
      signature.outputs.push_back(tensor_spec(output));
    }
    info_.signatures.push_back(std::move(signature));
    info_.table = std::shared_ptr<const TableSchema>(plan_, &schema);
    info_.producer = plan_->producer();
    info_.graph_name = plan_->format();
    info_.model_version = spec.version;
    info_.metadata = {{"format", plan_->format()},
                      {"columns", std::to_string(plan_->column_count())},
                      {"islands", std::to_string(plan_->island_count())}};
    info_.file_bytes = static_cast<int64_t>(plan_->bytes());
    info_.providers = {"tabular"};
  }

  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override {
    return std::make_unique<TabularScratch>(*plan_);
  }
  Status run(uint32_t signature, std::span<const TensorView> inputs,
             std::span<const uint32_t> output_indices, BackendScratch& scratch,
             const RunOptions& options) override;

 private:
  std::shared_ptr<const Plan> plan_;
  BackendModelInfo info_;
};

// Hot path: run. Rows are those of the first input.
Status TabularModel::run(uint32_t signature, std::span<const TensorView> inputs,
                         std::span<const uint32_t> output_indices, BackendScratch& scratch_base,
                         const RunOptions& options) {
  auto& scratch = static_cast<TabularScratch&>(scratch_base);
  const TableSchema& schema = plan_->schema();
  const bool counts_rows = schema.fields.empty() && inputs.size() == 1;
  if (signature != 0 || (inputs.size() != schema.fields.size() && !counts_rows)) {
    return make_error(ErrorCode::Internal, "tabular: expected " +
                                               std::to_string(schema.fields.size()) +
                                               " fields, got " + std::to_string(inputs.size()));
  }
  Frame& frame = scratch.frame();
  const int64_t rows = inputs.empty() || inputs[0].shape.rank() == 0 ? 1 : inputs[0].shape[0];
  // Fields that are absent and columns of stages have rows too.
  const auto values = static_cast<uint64_t>(rows) * plan_->column_count();
  if (values > kTableElementsMax) {
    return make_error(ErrorCode::BodyTooLarge,
                      std::to_string(rows) + " rows of " + std::to_string(plan_->column_count()) +
                          " columns: expected at most " + std::to_string(kTableElementsMax) +
                          " values, got " + std::to_string(values));
  }
  frame.begin(static_cast<uint32_t>(rows));
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    Status filled = tabular::fill_column(frame, frame.columns[plan_->field_columns()[i]],
                                         schema.fields[i], inputs[i]);
    if (!filled.ok()) return filled;
  }
  for (const uint32_t index : output_indices) {
    if (index < schema.outputs.size()) continue;
    return make_error(ErrorCode::Internal, "tabular: no output " + std::to_string(index));
  }
  const tabular::RunOptions run_options{options.null_for_invalid};
  Status done = plan_->run(frame, run_options, options.cancel, output_indices);
  if (!done.ok()) return done;
  scratch.made().begin(output_indices.size(), options.output_bytes_max);
  for (const uint32_t index : output_indices) {
    tabular::Column& column = frame.columns[plan_->output_columns()[index]];
    Status made = scratch.made().add(frame, column, schema.outputs[index]);
    if (!made.ok()) return made;
  }
  return {};
}

class TabularBackend final : public Backend {
 public:
  explicit TabularBackend(Backend* runtime) : runtime_(runtime) {}
  Result<std::shared_ptr<BackendModel>> load(const ModelSpec& spec) override {
    auto plan = Plan::load(spec.path, runtime_);
    if (!plan.ok()) return std::move(plan.error());
    return std::shared_ptr<BackendModel>(
        std::make_shared<TabularModel>(spec, std::move(plan.value())));
  }

  // A plan's large numeric parts are the runtime's.
  bool loads_quietly(const ModelSpec& spec) const override {
    return runtime_ == nullptr || runtime_->loads_quietly(spec);
  }

 private:
  Backend* const runtime_;
};

}  // namespace

std::unique_ptr<Backend> make_tabular_backend(Backend* runtime) {
  return std::make_unique<TabularBackend>(runtime);
}

}  // namespace serval
