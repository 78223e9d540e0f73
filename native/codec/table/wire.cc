// ModelInferRequest and PredictRequest for a tabular model: see table.h. Hot path; any thread. The
// message is validated as for any model (codec/v2/wire_read, codec/serving/wire_read); here its
// inputs become tensors of the extension.
#include "base/bytes/wire_lists.h"
#include "codec/bytes_tensor.h"
#include "codec/checked.h"
#include "codec/serving/wire_read.h"
#include "codec/table/bind.h"
#include "codec/table/table.h"
#include "codec/v2/wire_read.h"
#include "codec/v2/wire_typed.h"

namespace serval {

namespace {

using namespace table;
using Bytes = std::span<const uint8_t>;

void hold(RequestTensor& tensor, uint64_t elements, const TensorView& view) {
  tensor.elements = elements;
  tensor.data = view.data;
  tensor.strings = view.strings.data();
}

class WireSource final : public TensorSource {
 public:
  WireSource(const WireRequest& wire, Arena& arena) : wire_(wire), arena_(arena) {}

  Status read(size_t index, uint64_t elements, RequestTensor& tensor) override {
    TensorView view;
    Status done = read_view(index, elements, carrier_of(tensor.dtype), view);
    hold(tensor, elements, view);
    return done;
  }

  Status read_nested(size_t, RequestTensor& tensor) override {
    return invalid_argument(input_text(tensor) + ": shape " + tensor.shape.to_string() +
                            " needs the lengths of its cells: expected an input " +
                            quoted(std::string(tensor.name) + std::string(kCompanionSuffix)) +
                            " of INT32");
  }

  bool text_is_checked() const override { return false; }

 private:
  Status read_view(size_t index, uint64_t elements, DType carrier, TensorView& view) {
    const WireInput& input = wire_.inputs[index];
    if (wire_.raw_data.empty()) {
      return decode_wire_typed(input, carrier, elements, arena_, view);
    }
    const Bytes raw = wire_.raw_data[index];
    if (carrier == DType::Bytes) return decode_raw_bytes(raw, elements, input.name, arena_, view);
    Shape flat;
    (void)flat.push_back(static_cast<int64_t>(elements));
    return raw_fixed_tensor(raw, carrier, flat, input.name, arena_, view);
  }

  const WireRequest& wire_;
  Arena& arena_;
};

ParameterValue value_of(const WireParameter& parameter) {
  using Kind = ParameterValue::Kind;
  switch (parameter.choice) {
    case InferParameter::kBoolParam: return {Kind::Bool, parameter.value != 0, 0, "a bool_param"};
    case InferParameter::kInt64Param:
    case InferParameter::kUint64Param: {
      const bool huge = parameter.value > uint64_t{INT64_MAX};
      const bool is_int64 = parameter.choice == InferParameter::kInt64Param;
      if (huge && !is_int64) return {Kind::Other, false, 0, "a uint64_param"};
      return {Kind::Integer, false, static_cast<int64_t>(parameter.value),
              is_int64 ? "an int64_param" : "a uint64_param"};
    }
    case InferParameter::kStringParam: return {Kind::Text, false, 0, parameter.text};
    case InferParameter::kDoubleParam: return {Kind::Other, false, 0, "a double_param"};
    default: return {Kind::Other, false, 0, "no value"};
  }
}

// Calls take(parameter) for each entry of a map of parameters. The message has been validated.
template <typename Take>
Status each_parameter(Bytes message, uint32_t number, Take take) {
  Status taken;
  each_wire_field(message, number, [&](const WireField& field) {
    if (field.type() != WireType::Bytes) return true;
    WireFault none;
    WireParameter parameter;
    (void)read_wire_parameter(field.bytes, message.data(), none, parameter);
    taken = take(parameter);
    return taken.ok();
  });
  return taken;
}

Status read_tensor(const WireInput& input, RequestTensor& tensor) {
  tensor.name = input.name;
  tensor.shape = input.shape;
  tensor.dtype = dtype_from_name(input.datatype);
  if (tensor.dtype == DType::Invalid) {
    return invalid_argument(input_text(tensor) + ": unknown datatype " + quoted(input.datatype));
  }
  if (!input.has_parameters) return {};
  Status done =
      each_parameter(input.message, InferInputTensor::kParameters, [&](const WireParameter& one) {
        return set_tensor_parameter(one.key, value_of(one), tensor, tensor.parameters);
      });
  return done.ok() ? check_parameters(tensor) : std::move(done);
}

Status check_no_shared(const WireRequest& wire) {
  const auto refused = [](const char* tensor, std::string_view name) {
    return make_error(ErrorCode::Unimplemented,
                      std::string(tensor) + " " + quoted(name) + std::string(kNoSharedMemory));
  };
  for (const WireInput& input : wire.inputs) {
    if (input.shared.given != WireShared::kNone) return refused("input", input.name);
  }
  for (const WireOutput& output : wire.outputs) {
    if (output.shared.given != WireShared::kNone) return refused("output", output.name);
  }
  return {};
}

Status read_outputs(const WireRequest& wire, const TableSchema& table, const Signature& signature,
                    DecodedRequest& out) {
  for (const WireOutput& wanted : wire.outputs) {
    uint32_t classes = 0;
    Status added = read_wire_classes(wanted, classes);
    if (added.ok()) {
      added = add_output({wanted.name, false, false, classes}, false, table, signature, out);
    }
    if (!added.ok()) return added;
  }
  if (wire.outputs.empty()) add_default_outputs(table, false, out);
  return {};
}

class TfSource final : public TensorSource {
 public:
  TfSource(const WireTfPredict& wire, uint64_t fill_left, Arena& arena)
      : wire_(wire), fill_left_(fill_left), arena_(arena) {}

  Status read(size_t index, uint64_t elements, RequestTensor& tensor) override {
    const WireTfInput& input = wire_.inputs[index];
    TensorView view;
    Status done = decode_wire_tensor(input.tensor, input.alias, fill_left_, arena_, view);
    hold(tensor, elements, view);
    return done;
  }

  Status read_nested(size_t, RequestTensor& tensor) override {
    return invalid_argument(input_text(tensor) + ": shape " + tensor.shape.to_string() +
                            ": a TensorProto has no -1");
  }

  bool text_is_checked() const override { return false; }

 private:
  const WireTfPredict& wire_;
  uint64_t fill_left_;
  Arena& arena_;
};

class ViewSource final : public TensorSource {
 public:
  explicit ViewSource(std::span<const TensorView> views) : views_(views) {}

  Status read(size_t index, uint64_t elements, RequestTensor& tensor) override {
    hold(tensor, elements, views_[index]);
    return {};
  }

  Status read_nested(size_t, RequestTensor& tensor) override {
    return invalid_argument(input_text(tensor) + ": shape " + tensor.shape.to_string() +
                            ": lists of different lengths cannot be read from a tensor");
  }

  bool text_is_checked() const override { return false; }

 private:
  const std::span<const TensorView> views_;
};

// TensorFlow has one type for text; the field determines its meaning.
DType dtype_for(DType given, std::string_view name, size_t guess, const TableSchema& table) {
  const int index = given == DType::Bytes ? table.find_field(name, guess) : -1;
  if (index < 0) return given;
  const FieldSpec& field = table.fields[static_cast<size_t>(index)];
  const DType own = dtype_of(field.type == plan::Type::List ? field.element : field.type);
  return own == DType::Date || own == DType::Timestamp ? own : given;
}

}  // namespace

Status decode_table_wire(Bytes message, const TableSchema& table, const Signature& signature,
                         const Limits& limits, Arena& arena, DecodedRequest& out) {
  out.clear();
  WireRequest wire;
  Status done = read_sound_wire_request(message, limits, arena, wire);
  if (done.ok()) done = check_no_shared(wire);
  if (done.ok()) done = check_wire_raw_data(wire);
  if (!done.ok()) return done;
  RequestParameters asked;
  if (wire.has_parameters) {
    done = each_parameter(message, ModelInferRequest::kParameters, [&](const WireParameter& one) {
      return set_request_parameter(one.key, value_of(one), asked);
    });
    if (!done.ok()) return done;
  }
  auto* tensors = arena.allocate_array<RequestTensor>(wire.inputs.size());
  if (tensors == nullptr) return no_memory();
  for (size_t i = 0; i < wire.inputs.size(); ++i) {
    done = read_tensor(wire.inputs[i], *new (&tensors[i]) RequestTensor());
    if (!done.ok()) return done;
  }
  const std::span<RequestTensor> given(tensors, wire.inputs.size());
  WireSource source(wire, arena);
  done = bind_tensors(given, source, table, asked.strict, arena, out);
  if (done.ok()) done = read_outputs(wire, table, signature, out);
  if (done.ok()) done = check_left_out(table, out);
  out.table = asked.options;
  if (!asked.has_string_datatype) {
    out.table.text_is_string = asked.extended || uses_extension(given);
  }
  out.id = wire.id;
  out.has_id = !wire.id.empty();
  return done;
}

Status decode_table_tf(Bytes message, const TableSchema& table,
                       std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                       DecodedRequest& out) {
  out.clear();
  WireTfPredict wire;
  Status done = open_tf_predict(message, signatures, limits, arena, wire, out.signature_index);
  if (!done.ok()) return done;
  auto* tensors = arena.allocate_array<RequestTensor>(wire.inputs.size());
  if (tensors == nullptr) return no_memory();
  for (size_t i = 0; i < wire.inputs.size(); ++i) {
    const WireTfInput& input = wire.inputs[i];
    RequestTensor& tensor = *new (&tensors[i]) RequestTensor();
    const TfType* type = nullptr;
    done = wire_tensor_type(input.tensor, input.alias, type);
    if (!done.ok()) return done;
    tensor.name = input.alias;
    tensor.shape = input.tensor.shape;
    tensor.dtype = dtype_for(type->dtype, input.alias, i, table);
    tensor.parameters.format = kIsoFormat;
  }
  TfSource source(wire, limits.body_bytes_max, arena);
  done = bind_tensors({tensors, wire.inputs.size()}, source, table, false, arena, out);
  if (done.ok()) done = take_output_filter(wire, signatures[out.signature_index], out);
  if (wire.output_filter.empty()) add_default_outputs(table, false, out);
  if (done.ok()) done = check_left_out(table, out);
  return done;
}

Status decode_table_tensors(std::span<const std::string_view> names,
                            std::span<const TensorView> tensors, const TableSchema& table,
                            Arena& arena, DecodedRequest& out) {
  auto* given = arena.allocate_array<RequestTensor>(names.size());
  if (given == nullptr) return no_memory();
  size_t count = 0;
  auto* present = arena.allocate_array<TensorView>(names.size());
  if (present == nullptr) return no_memory();
  for (size_t i = 0; i < names.size(); ++i) {
    if (tensors[i].dtype == DType::Invalid) continue;
    RequestTensor& tensor = *new (&given[count]) RequestTensor();
    new (&present[count++]) TensorView(tensors[i]);
    tensor.name = names[i];
    tensor.shape = tensors[i].shape;
    tensor.dtype = dtype_for(tensors[i].dtype, names[i], i, table);
    tensor.parameters.format = kIsoFormat;
  }
  ViewSource source({present, count});
  Status done = bind_tensors({given, count}, source, table, false, arena, out);
  if (done.ok()) done = check_left_out(table, out);
  return done;
}

}  // namespace serval
