// Hot path. A ModelInferRequest against a model's signature: names, datatypes, shapes, counts; its
// data become tensors. Any thread. The wire's form is read by wire_read.cc, before anything here
// looks at the model: a malformed message is malformed whatever else is wrong with it.
#include "codec/v2/wire.h"

#include <algorithm>

#include "codec/bytes_tensor.h"
#include "codec/checked.h"
#include "codec/v2/extension.h"
#include "codec/v2/wire_read.h"
#include "codec/v2/wire_typed.h"

namespace serval {

namespace {

using Bytes = std::span<const uint8_t>;

Error bad_input(const WireInput& input, const std::string& what) {
  return invalid_argument("input " + wire_quoted(input.name) + ": " + what);
}

Status check_text_size(const char* field, std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return {};
  return invalid_argument(std::string(field) + " is " + std::to_string(text.size()) +
                          " bytes long; the limit is " + std::to_string(bytes_max));
}

Error unimplemented(const char* tensor, std::string_view name, std::string_view parameter) {
  return make_error(ErrorCode::Unimplemented, std::string(tensor) + " " + wire_quoted(name) +
                                                  ": parameter '" + std::string(parameter) +
                                                  "' is not implemented over gRPC by this server");
}

// Features that change what the data mean come first: without them no other check makes sense.
Status check_parameters(const WireRequest& wire) {
  for (const WireInput& input : wire.inputs) {
    if (!input.refused_parameter.empty()) {
      return unimplemented("input", input.name, input.refused_parameter);
    }
  }
  for (const WireOutput& output : wire.outputs) {
    if (!output.refused_parameter.empty()) {
      return unimplemented("output", output.name, output.refused_parameter);
    }
  }
  SchedulePolicy unused;
  return read_wire_schedule(wire.schedule, unused);
}

Status check_datatype(const WireInput& input, const TensorSpec& spec) {
  if (input.datatype == dtype_name(spec.dtype)) return {};
  const bool known = dtype_from_name(input.datatype) != DType::Invalid;
  const std::string tail =
      dtype_is_tabular(dtype_from_name(input.datatype)) ? of_tabular_extension(", which") : "";
  return bad_input(input, "expected datatype " + std::string(dtype_name(spec.dtype)) + ", got " +
                              (known ? "" : "unknown datatype ") + wire_quoted(input.datatype) +
                              tail);
}

Status check_dims(const WireInput& input, uint64_t& elements) {
  if (input.rank > kRankMax) {
    return bad_input(input, "shape has " + std::to_string(input.rank) +
                                " dimensions; the limit is " + std::to_string(kRankMax));
  }
  for (size_t i = 0; i < input.shape.rank(); ++i) {
    if (input.shape[i] >= 0) continue;
    return bad_input(input, "dimension " + std::to_string(i) + " of shape " +
                                input.shape.to_string() + " is negative" +
                                (input.shape.rank() == 3 && i == 2 && input.shape[i] == -1
                                     ? of_tabular_extension("; -1")
                                     : ""));
  }
  const std::optional<uint64_t> count = input.shape.elements();
  if (!count) {
    return bad_input(input, "shape " + input.shape.to_string() + " has over 2^62 elements");
  }
  elements = *count;
  return {};
}

// `raw`: the input's raw contents, or null when the request is typed.
Status decode_tensor(const WireInput& input, const Bytes* raw, const TensorSpec& spec, Arena& arena,
                     TensorView& out) {
  uint64_t elements = 0;
  if (!input.tabular_parameter.empty()) {
    const std::string name = "parameter '" + std::string(input.tabular_parameter) + "'";
    return bad_input(input, of_tabular_extension(name));
  }
  if (Status status = check_datatype(input, spec); !status.ok()) return status;
  if (Status status = check_dims(input, elements); !status.ok()) return status;
  if (raw == nullptr) return decode_wire_typed(input, spec.dtype, elements, arena, out);
  if (spec.dtype != DType::Bytes) {
    return raw_fixed_tensor(*raw, spec.dtype, input.shape, input.name, arena, out);
  }
  out.dtype = spec.dtype;
  out.shape = input.shape;
  return decode_raw_bytes(*raw, elements, input.name, arena, out);
}

std::string names_of(const std::vector<TensorSpec>& specs) {
  std::string text;
  for (const TensorSpec& spec : specs) {
    if (text.size() > kErrorValueBytesMax) return text + ", ...";
    text += (text.empty() ? "" : ", ") + wire_quoted(spec.name);
  }
  return text.empty() ? "none" : text;
}

Status decode_inputs(const WireRequest& wire, const Signature& signature, Arena& arena,
                     DecodedRequest& out) {
  if (Status status = check_wire_raw_data(wire); !status.ok()) return status;
  out.inputs.resize(signature.inputs.size());
  for (size_t i = 0; i < wire.inputs.size(); ++i) {
    const WireInput& input = wire.inputs[i];
    const int index = signature.find_input(input.name);
    if (index < 0) {
      return bad_input(input,
                       "the model has no such input; expected " + names_of(signature.inputs));
    }
    TensorView& tensor = out.inputs[static_cast<size_t>(index)];
    if (tensor.dtype != DType::Invalid) return bad_input(input, "given more than once");
    const Bytes* raw = wire.raw_data.empty() ? nullptr : &wire.raw_data[i];
    const TensorSpec& spec = signature.inputs[static_cast<size_t>(index)];
    Status status = decode_tensor(input, raw, spec, arena, tensor);
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < out.inputs.size(); ++i) {
    if (out.inputs[i].dtype != DType::Invalid) continue;
    return invalid_argument("input " + wire_quoted(signature.inputs[i].name) + " is missing");
  }
  return {};
}

// An empty list asks for all outputs. Else the answer has the order that was asked for.
Status decode_outputs(const WireRequest& wire, const Signature& signature, DecodedRequest& out) {
  if (wire.outputs.empty()) {
    for (uint32_t i = 0; i < signature.outputs.size(); ++i) out.outputs.push_back({i, false});
    return {};
  }
  for (const WireOutput& wanted : wire.outputs) {
    const int index = signature.find_output(wanted.name);
    if (index < 0) {
      return invalid_argument("requested output " + wire_quoted(wanted.name) +
                              ": the model has no such output; expected " +
                              names_of(signature.outputs));
    }
    // At most one entry per output of the model is ever looked through.
    for (const RequestedOutput& earlier : out.outputs) {
      if (earlier.index != static_cast<uint32_t>(index)) continue;
      return invalid_argument("requested output " + wire_quoted(wanted.name) +
                              ": given more than once");
    }
    uint32_t classes = 0;
    if (Status read = read_wire_classes(wanted, classes); !read.ok()) return read;
    out.outputs.push_back({static_cast<uint32_t>(index), false, classes});
  }
  return {};
}

}  // namespace

Status peek_wire_v2(Bytes message, WireModelRef& out) {
  out = {};
  WireFault fault;
  WireReader reader(message, message.data(), fault);
  WireField field;
  WireSchedule schedule;
  WireParameter parameter;
  bool good = true;
  while (good && reader.next(field)) {
    if (field.tag == wire_tag(wire_v2::kModelName, WireType::Bytes)) {
      good = reader.text(field, out.name);
    } else if (field.tag == wire_tag(wire_v2::kModelVersion, WireType::Bytes)) {
      good = reader.text(field, out.version);
    } else if (field.tag == wire_tag(wire_v2::kId, WireType::Bytes)) {
      good = reader.text(field, out.id);
    } else if (field.tag == wire_tag(wire_v2::kParameters, WireType::Bytes)) {
      good = read_wire_parameter(field.bytes, message.data(), fault, parameter);
      schedule.take(parameter);
    }
  }
  if (fault.reason == nullptr) {
    Status status = check_text_size("id", out.id, kIdBytesMax);
    if (status.ok()) status = check_text_size("model_name", out.name, kNameBytesMax);
    if (status.ok()) status = check_text_size("model_version", out.version, kNameBytesMax);
    if (status.ok()) return read_wire_schedule(schedule, out.schedule);
    out = {};
    return status;
  }
  out = {};
  return wire_fault_error(fault);
}

// Source: seed 001 "raw_input_contents"; v2-protocol.md 1.4: typed and raw, too few, too many.
Status check_wire_raw_data(const WireRequest& wire) {
  if (wire.raw_data.empty()) return {};
  for (const WireInput& input : wire.inputs) {
    if (!input.has_contents) continue;
    return bad_input(input, "contents must not be given together with raw_input_contents");
  }
  if (wire.raw_data.size() == wire.inputs.size()) return {};
  return invalid_argument("raw_input_contents: expected " + std::to_string(wire.inputs.size()) +
                          " entries, one per input, got " + std::to_string(wire.raw_data.size()));
}

Status read_wire_classes(const WireOutput& wanted, uint32_t& classes) {
  uint64_t asked_for = 0;
  const WireParameter& asked = wanted.classification;
  if (!asked.key.empty() && (!wire_whole_number(asked, asked_for) || asked_for == 0)) {
    return wire_not_whole("output " + wire_quoted(wanted.name) + ": ", asked, 1);
  }
  // More texts would not fit an answer.
  classes = static_cast<uint32_t>(std::min<uint64_t>(asked_for, UINT32_MAX));
  return {};
}

Status read_sound_wire_request(Bytes message, const Limits& limits, Arena& arena,
                               WireRequest& out) {
  if (message.size() > limits.body_bytes_max) {
    return make_error(ErrorCode::BodyTooLarge,
                      "ModelInferRequest is " + std::to_string(message.size()) +
                          " bytes long; the limit is " + std::to_string(limits.body_bytes_max));
  }
  if (Status status = read_wire_request(message, arena, out); !status.ok()) return status;
  if (Status status = check_text_size("id", out.id, kIdBytesMax); !status.ok()) return status;
  return check_parameters(out);
}

Status decode_wire_v2(Bytes message, const Signature& signature, const Limits& limits, Arena& arena,
                      DecodedRequest& out) {
  out.clear();
  WireRequest wire;
  Status sound = read_sound_wire_request(message, limits, arena, wire);
  if (!sound.ok()) return sound;
  if (Status status = decode_inputs(wire, signature, arena, out); !status.ok()) return status;
  if (Status status = decode_outputs(wire, signature, out); !status.ok()) return status;
  out.id = wire.id;
  out.has_id = !wire.id.empty();
  return {};
}

}  // namespace serval
