// Describes a run's outputs. Hot path; any thread.
#include "capi/outputs.h"

#include <cstring>

#include "codec/table/answer.h"

namespace serval::capi {

namespace {

Error no_output_memory() { return make_error(ErrorCode::MemoryFull, "no memory for the outputs"); }

// Gathers texts in one block.
Status gather_texts(std::span<const std::string_view> texts, Arena& arena, Output& out) {
  size_t bytes = 0;
  for (const std::string_view text : texts) bytes += text.size();
  auto* offsets = arena.allocate_array<uint64_t>(texts.size() + 1);
  auto* data = arena.allocate_array<char>(bytes);
  if (offsets == nullptr || data == nullptr) return no_output_memory();
  uint64_t end = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    offsets[i] = end;
    if (!texts[i].empty()) std::memcpy(data + end, texts[i].data(), texts[i].size());
    end += texts[i].size();
  }
  offsets[texts.size()] = end;
  out.data = data;
  out.bytes = bytes;
  out.offsets = offsets;
  return {};
}

Status fill_output(const TensorView& view, const char* name, Arena& arena, Output& out) {
  out.name = name;
  out.dtype = view.dtype;
  out.shape = view.shape;
  if (dtype_is_text(view.dtype)) return gather_texts(view.strings, arena, out);
  out.data = view.data;
  out.bytes = view.bytes;
  return {};
}

bool overlaps(const void* data, size_t bytes, const serval_tensor& input) {
  const auto at = reinterpret_cast<uintptr_t>(data);
  const auto from = reinterpret_cast<uintptr_t>(input.data);
  return bytes != 0 && input.bytes != 0 && at < from + input.bytes && from < at + bytes;
}

}  // namespace

Status write_tensors(const ModelShapes& shapes, Run& run) {
  const uint32_t index = run.decoded.signature_index;
  const Signature& signature = shapes.signatures()[index];
  const std::span<const TensorView> made = run.scratch->outputs();
  std::vector<TensorView> views(made.begin(), made.end());
  shapes.to_client(index, run.output_indices, views);
  run.outputs.assign(views.size(), Output());
  for (size_t i = 0; i < views.size(); ++i) {
    const TensorSpec& spec = signature.outputs[run.output_indices[i]];
    Status filled = fill_output(views[i], spec.name.c_str(), run.arena, run.outputs[i]);
    if (!filled.ok()) return filled;
  }
  return {};
}

Status write_columns(const TableSchema& schema, const Signature& signature, Run& run) {
  std::span<table::AnswerTensor> answers;
  Status made = table::make_answer(schema, signature, run.decoded, run.scratch->outputs(),
                                   table::AnswerForm::V1, run.arena, answers);
  if (!made.ok()) return made;
  run.outputs.assign(answers.size(), Output());
  for (size_t i = 0; i < answers.size(); ++i) {
    const table::AnswerTensor& answer = answers[i];
    Output& out = run.outputs[i];
    const TensorSpec& spec = signature.outputs[run.output_indices[i]];
    Status filled = fill_output(answer.view, spec.name.c_str(), run.arena, out);
    if (!filled.ok()) return filled;
    // Dates are texts by now, and keep their name.
    const DType named = dtype_from_name(answer.datatype);
    if (dtype_is_text(out.dtype)) out.dtype = named;
    out.lengths = answer.view.lengths;
    out.missing = answer.nulls;
  }
  return {};
}

Status keep_outputs(std::span<const serval_tensor> inputs, Run& run) {
  for (Output& output : run.outputs) {
    for (const serval_tensor& input : inputs) {
      if (!overlaps(output.data, output.bytes, input)) continue;
      void* copy = run.arena.allocate(output.bytes);
      if (copy == nullptr) return no_output_memory();
      std::memcpy(copy, output.data, output.bytes);
      output.data = copy;
    }
  }
  return {};
}

}  // namespace serval::capi
