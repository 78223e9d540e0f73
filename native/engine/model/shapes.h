// The tensors of a model as its configuration presents them: dims merged with the backend's,
// reshapes, labels. Immutable after load; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/table_schema.h"

namespace serval {

class ModelShapes {
 public:
  // Merges `spec.inputs` and `spec.outputs` into the first signature. `table`: the schema of a
  // tabular model, else null. Errors: model_invalid: an unknown tensor, dims that contradict the
  // model's, a reshape whose free dims differ in number, an optional input that the model cannot do
  // without, inputs that cannot be fields (spec.extended_v2).
  static Result<ModelShapes> make(const ModelSpec& spec, const std::vector<Signature>& from_backend,
                                  const TableSchema* table = nullptr);

  const std::vector<Signature>& signatures() const { return signatures_; }
  // Whether the first dim of every input and output of every signature is free.
  bool batchable() const { return batchable_; }
  // The inputs as fields of V2's extension, if the configuration of a model of tensors asks for it,
  // else null.
  const TableSchema* fields() const { return fields_ ? &*fields_ : nullptr; }
  // Whether every input has trailing dimensions.
  bool rows_have_dims() const;
  // Converts from the client's shapes to the model's, and back. Views only change their shape. Only
  // the first signature has reshapes and labels.
  void to_model(uint32_t signature, std::span<TensorView> inputs) const;
  // Appends or inserts the signature's defaults (TensorSpec::default_value) of inputs that are
  // omitted. They have the model's shape, so call it after to_model().
  void add_defaults(uint32_t signature, std::vector<TensorView>& inputs) const;
  void to_client(uint32_t signature, std::span<const uint32_t> output_indices,
                 std::span<TensorView> outputs) const;
  // Classification labels of an output.
  std::span<const std::string> labels(uint32_t signature, uint32_t output_index) const;

 private:
  struct Reshape {
    size_t index = 0;
    std::vector<int64_t> from, to;  // free dims correspond in order
  };
  static void apply(const Reshape& reshape, TensorView& view);
  std::vector<Signature> signatures_;
  std::vector<Reshape> inputs_, outputs_;  // only those that are reshaped
  std::vector<std::vector<std::string>> labels_;
  std::optional<TableSchema> fields_;
  bool batchable_ = false;
};

}  // namespace serval
