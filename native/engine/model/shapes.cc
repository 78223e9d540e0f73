// Converts tensors between the model and its configuration. make(): control plane; the rest: hot
// path, any thread.
#include "engine/model/shapes.h"

#include <algorithm>

#include "codec/table/tensor_fields.h"

namespace serval {

namespace {

Error bad_spec(const ModelSpec& spec, const std::string& what) {
  return make_error(ErrorCode::ModelInvalid, "model '" + spec.name + "': " + what);
}

std::string text(const std::vector<int64_t>& dims) { return Shape(dims).to_string(); }

bool fits(const std::vector<int64_t>& dims, const TensorSpec& tensor) {
  if (tensor.unknown_rank) return true;
  if (dims.size() != tensor.dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0 && tensor.dims[i] >= 0 && dims[i] != tensor.dims[i]) return false;
  }
  return true;
}

size_t free_dims(const std::vector<int64_t>& dims) {
  return static_cast<size_t>(std::count(dims.begin(), dims.end(), -1));
}

bool first_dim_free(const std::vector<TensorSpec>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const TensorSpec& tensor) {
    // A request that has this input runs alone.
    if (tensor.may_be_absent && !tensor.in_config) return true;
    return !tensor.unknown_rank && !tensor.dims.empty() && tensor.dims[0] == -1;
  });
}

// Returns whether clients give a scalar of the model as one element, as in Triton, whose
// configurations can write a scalar only as dims of ones.
bool is_scalar_as_ones(const std::vector<int64_t>& dims, const TensorSpec& tensor) {
  return !tensor.unknown_rank && tensor.dims.empty() && !dims.empty() &&
         std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 1; });
}

// Returns why the model needs a value of the input; "" = it runs without one.
std::string why_needed(const ModelSpec& spec, const TensorSpec& input, const TableSchema* table) {
  if (spec.backend == "null") return "the null backend returns its inputs as its outputs";
  if (table != nullptr) {
    const int field = table->find_field(input.name, 0);
    if (field >= 0 && table->fields[static_cast<size_t>(field)].optional) return "";
    return "the model has no result for rows in which the field is missing";
  }
  if (input.may_be_absent || input.default_value != nullptr) return "";
  if (!spec.graphs.empty()) return "the SavedModel's signature has no default for it";
  return "the graph needs its value: it has no default there (an initializer of its name), and its "
         "type is not optional(tensor)";
}

// Applies the configuration's `optional` to an input that the model can do without, or refuses it.
// Source: Triton, where an input of the configuration is required unless it is optional.
Status set_presence(const ModelSpec& spec, bool optional, const TableSchema* table,
                    TensorSpec& input) {
  if (!optional) {
    input.in_config = input.may_be_absent;
    input.may_be_absent = false;
    return {};
  }
  const std::string why = why_needed(spec, input, table);
  if (!why.empty()) {
    return bad_spec(
        spec, "input '" + input.name + "': the configuration says optional: true, but " + why);
  }
  input.may_be_absent = table == nullptr;  // the fields of a table have their own rules
  input.in_config = true;
  return {};
}

// Merges the dims of the configuration into the tensor; keeps the model's where they are narrower.
void narrow(const std::vector<int64_t>& dims, TensorSpec& tensor) {
  if (tensor.unknown_rank || tensor.dims.size() != dims.size()) {
    tensor.symbols.assign(dims.size(), "");
    tensor.dims = dims;
    tensor.unknown_rank = false;
    return;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) continue;
    tensor.dims[i] = dims[i];
    if (i < tensor.symbols.size()) tensor.symbols[i].clear();
  }
}

}  // namespace

Result<ModelShapes> ModelShapes::make(const ModelSpec& spec,
                                      const std::vector<Signature>& from_backend,
                                      const TableSchema* table) {
  ModelShapes shapes;
  shapes.signatures_ = from_backend;
  if (shapes.signatures_.empty()) return bad_spec(spec, "the backend returned no signature");
  Signature& signature = shapes.signatures_[0];
  for (const TensorSpec& output : signature.outputs) shapes.labels_.push_back(output.labels);
  const auto merge = [&](const std::vector<TensorOverride>& overrides, bool input) -> Status {
    std::vector<TensorSpec>& tensors = input ? signature.inputs : signature.outputs;
    const std::string kind = input ? "input" : "output";
    for (const TensorOverride& one : overrides) {
      const auto found = std::find_if(tensors.begin(), tensors.end(),
                                      [&](const TensorSpec& it) { return it.name == one.name; });
      if (found == tensors.end()) {
        return bad_spec(spec, "the configuration names " + kind + " '" + one.name +
                                  "', which the model does not have");
      }
      const auto index = static_cast<size_t>(found - tensors.begin());
      if (input) {
        Status present = set_presence(spec, one.optional, table, *found);
        if (!present.ok()) return present;
      }
      if (!input && !one.labels.empty()) {
        shapes.labels_[index] = one.labels;
        if (!found->labels.empty()) found->labels = one.labels;  // they replace the model's own
      }
      const bool scalar = one.model_dims.empty() && is_scalar_as_ones(one.dims, *found);
      const bool reshaped = scalar || (!one.model_dims.empty() && one.model_dims != one.dims);
      const std::vector<int64_t>& given = reshaped ? one.model_dims : one.dims;
      if (one.dims.empty() && !reshaped) continue;
      if (!fits(given, *found)) {
        return bad_spec(spec, kind + " '" + one.name + "': the configuration says " + text(given) +
                                  ", the model " + text(found->dims));
      }
      if (!reshaped) {
        narrow(one.dims, *found);
        continue;
      }
      if (free_dims(one.dims) != free_dims(one.model_dims)) {
        return bad_spec(spec, kind + " '" + one.name + "': a reshape from " + text(one.dims) +
                                  " to " + text(one.model_dims) +
                                  " needs the same number of free dims");
      }
      if (input) shapes.inputs_.push_back({index, one.dims, one.model_dims});
      else shapes.outputs_.push_back({index, one.model_dims, one.dims});
      found->unknown_rank = true;  // the client's dims replace the model's
      narrow(one.dims, *found);
    }
    return {};
  };
  if (Status merged = merge(spec.inputs, true); !merged.ok()) return std::move(merged.error());
  if (Status merged = merge(spec.outputs, false); !merged.ok()) return std::move(merged.error());
  shapes.batchable_ =
      std::all_of(shapes.signatures_.begin(), shapes.signatures_.end(), [](const Signature& one) {
        return one.required_inputs() > 0 && first_dim_free(one.inputs) &&
               first_dim_free(one.outputs);
      });
  if (spec.extended_v2 && spec.backend != "tabular") {
    Result<TableSchema> fields = fields_of_tensors(signature);
    if (!fields.ok()) return bad_spec(spec, fields.error().message);
    shapes.fields_ = std::move(fields.value());
  }
  return shapes;
}

bool ModelShapes::rows_have_dims() const {
  for (const Signature& signature : signatures_) {
    for (const TensorSpec& input : signature.inputs) {
      if (input.dims.size() < 2 && !input.may_be_absent) return false;
    }
  }
  return true;
}

void ModelShapes::apply(const Reshape& reshape, TensorView& view) {
  if (view.shape.rank() != reshape.from.size()) return;
  Shape shape;
  size_t from = 0;
  for (int64_t dim : reshape.to) {
    if (dim < 0) {
      while (reshape.from[from] >= 0) ++from;
      dim = view.shape[from++];
    }
    if (!shape.push_back(dim)) return;
  }
  if (shape.elements() == view.shape.elements()) view.shape = shape;
}

void ModelShapes::to_model(uint32_t signature, std::span<TensorView> inputs) const {
  if (signature != 0) return;
  for (const Reshape& reshape : inputs_) {
    if (reshape.index < inputs.size()) apply(reshape, inputs[reshape.index]);
  }
}

void ModelShapes::add_defaults(uint32_t signature, std::vector<TensorView>& inputs) const {
  const std::vector<TensorSpec>& specs = signatures_[signature].inputs;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].may_be_absent || specs[i].default_value == nullptr) continue;
    if (i >= inputs.size()) inputs.resize(i + 1);
    if (inputs[i].dtype == DType::Invalid) inputs[i] = *specs[i].default_value;
  }
}

void ModelShapes::to_client(uint32_t signature, std::span<const uint32_t> output_indices,
                            std::span<TensorView> outputs) const {
  if (signature != 0) return;
  for (const Reshape& reshape : outputs_) {
    for (size_t i = 0; i < output_indices.size(); ++i) {
      if (output_indices[i] == reshape.index) apply(reshape, outputs[i]);
    }
  }
}

std::span<const std::string> ModelShapes::labels(uint32_t signature, uint32_t output_index) const {
  if (signature != 0 || output_index >= labels_.size()) return {};
  return labels_[output_index];
}

}  // namespace serval
