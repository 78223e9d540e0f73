// Sets up the inputs with their rows, and judges the outputs. Control plane; pure.
#include "backend/rows/prove.h"

#include <algorithm>
#include <exception>

#include "backend/rows/scope.h"

namespace serval::rows {
namespace {

using ort::for_fields;

RowsProof unproved(bool couples, std::string text) {
  return {couples ? RowsVerdict::Coupled : RowsVerdict::Unproved, std::move(text)};
}

// An input that every request has: N rows, and symbols for free sizes.
std::optional<Value> rows_input(const GraphTensor& input, Symbols& symbols) {
  const TensorSpec& spec = *input.spec;
  if (spec.unknown_rank || spec.dims.empty() || spec.dims[0] >= 0) return std::nullopt;
  Dims dims = {Dim::of_rows()};
  for (size_t i = 1; i < spec.dims.size(); ++i) {
    if (spec.dims[i] >= 0) {
      dims.emplace_back(spec.dims[i]);
      continue;
    }
    const std::string symbol = i < spec.symbols.size() ? spec.symbols[i] : "";
    dims.push_back(symbol.empty() ? symbols.fresh_dim()
                                  : Dim::of_symbol(symbols.named("input " + symbol, true)));
  }
  return Value::rows(std::move(dims), 0);
}

// Inputs that requests of a batch omit are constants, including those without an initializer.
void add_left_out(ort::Bytes model, std::unordered_map<std::string_view, Value>& inputs) {
  (void)for_fields(model, [&](const WireField& field) {
    if (field.tag != bytes_tag(ort::ModelProto::kGraph)) return true;
    std::vector<std::string_view> names;
    (void)for_fields(field.bytes, [&](const WireField& inner) {
      ort::OnnxValue value;
      if (inner.tag == bytes_tag(ort::GraphProto::kInput) && read_value(inner.bytes, value)) {
        names.push_back(value.name);
      }
      ort::OnnxTensor tensor;
      if (inner.tag == bytes_tag(ort::GraphProto::kInitializer) &&
          read_tensor(inner.bytes, tensor)) {
        std::erase(names, tensor.name);
      }
      return true;
    });
    for (const std::string_view name : names) inputs.try_emplace(name, Value::same());
    return true;
  });
}

RowsProof judge(const std::string& name, const Value* value) {
  const std::string output = "output '" + name + "': ";
  if (value == nullptr) return unproved(false, output + "no node produces it");
  if (value->kind == Kind::Mixed) return unproved(value->why->couples, value->why->text);
  if (value->kind == Kind::Same) {
    return unproved(false, output + "it is the same for all rows and has no batch axis");
  }
  if (value->instead != nullptr) {
    return unproved(false, output + "it is the same for all rows if a loop or branch does not run");
  }
  const bool pieces = value->kind == Kind::Pieces || value->kind == Kind::Extents;
  if (pieces)
    return unproved(true, output + "its number of entries depends on the values of all rows");
  if (!value->is_rows()) return unproved(true, output + "it depends on the number of rows");
  if (value->axis != 0) {
    return unproved(true, output + "its rows are on axis " + std::to_string(value->axis) +
                              ", not on the first");
  }
  if (!value->per_row().is(1)) {
    return unproved(true, output + "it does not have exactly one entry for each row");
  }
  return {RowsVerdict::Proved, {}};
}

// The inputs and outputs that a graph declares.
struct GraphEnds {
  std::vector<TensorSpec> inputs;  // without those that have a default value
  std::vector<std::string> outputs;
};

TensorSpec spec_of(const ort::OnnxValue& value) {
  TensorSpec spec;
  spec.name = value.name;
  spec.unknown_rank = !value.dims.has_value();
  if (value.dims) spec.dims = *value.dims;
  for (const std::string_view symbol : value.symbols) spec.symbols.emplace_back(symbol);
  return spec;
}

bool read_ends(ort::Bytes graph, GraphEnds& ends) {
  std::vector<std::string> given;
  const bool read = for_fields(graph, [&](const WireField& field) {
    ort::OnnxValue value;
    ort::OnnxTensor tensor;
    switch (field.tag) {
      case bytes_tag(ort::GraphProto::kInput):
        if (!read_value(field.bytes, value)) return false;
        ends.inputs.push_back(spec_of(value));
        return true;
      case bytes_tag(ort::GraphProto::kOutput):
        if (!read_value(field.bytes, value)) return false;
        ends.outputs.emplace_back(value.name);
        return true;
      case bytes_tag(ort::GraphProto::kInitializer):
        if (!read_tensor(field.bytes, tensor)) return false;
        given.emplace_back(tensor.name);
        return true;
      default: return true;
    }
  });
  std::sort(given.begin(), given.end());
  std::erase_if(ends.inputs, [&given](const TensorSpec& input) {
    return std::binary_search(given.begin(), given.end(), input.name);
  });
  return read;
}

}  // namespace

RowsProof prove_model(ort::Bytes model, const ReadConstant& read_constant) {
  GraphEnds ends;
  const bool read = for_fields(model, [&ends](const WireField& field) {
    return field.tag != bytes_tag(ort::ModelProto::kGraph) || read_ends(field.bytes, ends);
  });
  if (!read) return unproved(false, "the model cannot be read");
  Question question{model, {}, std::move(ends.outputs), read_constant};
  for (const TensorSpec& input : ends.inputs) question.inputs.push_back({input.name, &input});
  return prove(question);
}

RowsProof prove(const Question& question) {
  try {
    if (question.outputs.empty()) return unproved(false, "the graph has no outputs");
    Walk walk(question.read_constant);
    if (!walk.open(question.model)) return unproved(false, "the model cannot be read");
    std::unordered_map<std::string_view, Value> inputs;
    for (const GraphTensor& input : question.inputs) {
      std::optional<Value> value = rows_input(input, walk.symbols());
      if (!value) {
        return unproved(false, "input '" + input.name + "': its first dimension is not dynamic");
      }
      inputs.emplace(input.name, std::move(*value));
    }
    add_left_out(question.model, inputs);
    if (!walk.run_model(std::move(inputs))) return unproved(false, "the model cannot be read");
    // A coupling is more specific than an unknown, so it takes precedence.
    RowsProof first{RowsVerdict::Proved, {}};
    for (const std::string& name : question.outputs) {
      RowsProof one = judge(name, walk.find(name));
      if (one.verdict == RowsVerdict::Coupled) return one;
      if (first.verdict == RowsVerdict::Proved) first = std::move(one);
    }
    return first;
  } catch (const std::exception& problem) {
    return unproved(false, std::string("exception: ") + problem.what());
  }
}

}  // namespace serval::rows
