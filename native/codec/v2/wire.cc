// Hot path. Decodes a ModelInferRequest against a model's signature: names, datatypes, shapes,
// counts; its data become tensors. Any thread. wire_read.cc checks the wire format before anything
// here uses the model: a malformed message is reported as malformed even if other things are wrong
// with it.
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

// Checks the parameters shared_memory_*: their types, and which of them are required together.
// Source: Triton's texts.
Status check_shared_parameters(std::string_view tensor, const WireShared& shared) {
  struct Known {
    WireShared::Given which;
    const char* key;
    const char* type;
  };
  constexpr Known kKnown[] = {
      {WireShared::kRegion, "'shared_memory_region'", "string_param"},
      {WireShared::kOffset, "'shared_memory_offset'", "int64_param of 0 or more"},
      {WireShared::kBytes, "'shared_memory_byte_size'", "int64_param of 0 or more"}};
  const std::string where = " parameter for tensor " + wire_quoted(tensor);
  const bool has_region = (shared.given & WireShared::kRegion) != 0;
  for (const Known& one : kKnown) {
    if ((shared.given & one.which) == 0) continue;
    if (!has_region) {
      return invalid_argument(std::string(one.key) +
                              " can not be specified without 'shared_memory_region'" + where);
    }
    if ((shared.wrong & one.which) != 0) {
      return invalid_argument(std::string("invalid value type for ") + one.key + where +
                              ", expected " + one.type);
    }
  }
  if (!has_region || (shared.given & WireShared::kBytes) != 0) return {};
  return invalid_argument(
      "'shared_memory_byte_size' must be specified along with 'shared_memory_region'" + where);
}

// Checked first, because these parameters move the data, without which no other check makes sense.
Status check_parameters(const WireRequest& wire) {
  for (const WireInput& input : wire.inputs) {
    if (input.shared.given == WireShared::kNone) continue;
    if (Status good = check_shared_parameters(input.name, input.shared); !good.ok()) return good;
    if (!input.has_contents) continue;
    return invalid_argument(
        "unexpected 'content' provided when using shared memory for input tensor " +
        wire_quoted(input.name) + " for model " + wire_quoted(wire.model_name));
  }
  for (const WireOutput& output : wire.outputs) {
    if (output.shared.given == WireShared::kNone) continue;
    if (Status good = check_shared_parameters(output.name, output.shared); !good.ok()) return good;
    if (output.classification.key.empty()) continue;
    return invalid_argument("output " + wire_quoted(output.name) +
                            " can't set both 'shared_memory_region' and 'classification'");
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

SharedTensor shared_tensor(const WireShared& shared) {
  SharedTensor place;
  place.region = shared.region;
  place.bytes = shared.bytes;
  place.offset = shared.offset;
  return place;
}

// `raw`: the input's raw contents, or null if the request is typed. An input in shared memory only
// gets its shape.
Status decode_tensor(const WireInput& input, const Bytes* raw, const TensorSpec& spec, Arena& arena,
                     TensorView& out) {
  uint64_t elements = 0;
  if (!input.tabular_parameter.empty()) {
    const std::string name = "parameter '" + std::string(input.tabular_parameter) + "'";
    return bad_input(input, of_tabular_extension(name));
  }
  if (Status status = check_datatype(input, spec); !status.ok()) return status;
  if (Status status = check_dims(input, elements); !status.ok()) return status;
  if (input.shared.given != WireShared::kNone) {
    out.dtype = spec.dtype;
    out.shape = input.shape;
    return {};
  }
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
  size_t raw_at = 0;  // raw contents exist only for inputs that are not in shared memory
  for (const WireInput& input : wire.inputs) {
    const int index = signature.find_input(input.name);
    if (index < 0) {
      return bad_input(input,
                       "the model has no such input; expected " + names_of(signature.inputs));
    }
    TensorView& tensor = out.inputs[static_cast<size_t>(index)];
    if (tensor.dtype != DType::Invalid) return bad_input(input, "given more than once");
    const bool is_shared = input.shared.given != WireShared::kNone;
    const Bytes* raw = wire.raw_data.empty() || is_shared ? nullptr : &wire.raw_data[raw_at++];
    const TensorSpec& spec = signature.inputs[static_cast<size_t>(index)];
    Status status = decode_tensor(input, raw, spec, arena, tensor);
    if (!status.ok()) return status;
    if (!is_shared) continue;
    out.shared.push_back(shared_tensor(input.shared));
    out.shared.back().input = static_cast<uint32_t>(index);
  }
  for (size_t i = 0; i < out.inputs.size(); ++i) {
    if (out.inputs[i].dtype != DType::Invalid || signature.inputs[i].may_be_absent) continue;
    return invalid_argument("input " + wire_quoted(signature.inputs[i].name) + " is missing");
  }
  return {};
}

// An empty list requests all outputs. Otherwise the response keeps the requested order.
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
    // Searches at most one entry per output of the model. A duplicate is returned once. Source:
    // Triton's requested outputs are a set.
    const auto is_same = [index](const RequestedOutput& earlier) {
      return earlier.index == static_cast<uint32_t>(index);
    };
    if (std::any_of(out.outputs.begin(), out.outputs.end(), is_same)) continue;
    uint32_t classes = 0;
    if (Status read = read_wire_classes(wanted, classes); !read.ok()) return read;
    out.outputs.push_back({static_cast<uint32_t>(index), false, classes});
    if (wanted.shared.given == WireShared::kNone) continue;
    out.shared.push_back(shared_tensor(wanted.shared));
    out.outputs.back().shared = static_cast<uint32_t>(out.shared.size());
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
    if (field.tag == wire_tag(ModelInferRequest::kModelName, WireType::Bytes)) {
      good = reader.text(field, out.name);
    } else if (field.tag == wire_tag(ModelInferRequest::kModelVersion, WireType::Bytes)) {
      good = reader.text(field, out.version);
    } else if (field.tag == wire_tag(ModelInferRequest::kId, WireType::Bytes)) {
      good = reader.text(field, out.id);
    } else if (field.tag == wire_tag(ModelInferRequest::kParameters, WireType::Bytes)) {
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

// Source: the published V2 protocol, "raw_input_contents"; v2-protocol.md 1.4: typed and raw, too
// few, too many.
Status check_wire_raw_data(const WireRequest& wire) {
  if (wire.raw_data.empty()) return {};
  size_t expected = 0;
  for (const WireInput& input : wire.inputs) {
    expected += input.shared.given == WireShared::kNone;
    if (!input.has_contents) continue;
    return bad_input(input, "contents must not be given together with raw_input_contents");
  }
  if (wire.raw_data.size() == expected) return {};
  const bool all = expected == wire.inputs.size();
  return invalid_argument("raw_input_contents: expected " + std::to_string(expected) +
                          " entries, one per input" + (all ? "" : " that is not in shared memory") +
                          ", got " + std::to_string(wire.raw_data.size()));
}

Status read_wire_classes(const WireOutput& wanted, uint32_t& classes) {
  uint64_t asked_for = 0;
  const WireParameter& asked = wanted.classification;
  if (!asked.key.empty() && (!wire_whole_number(asked, asked_for) || asked_for == 0)) {
    return wire_not_whole("output " + wire_quoted(wanted.name) + ": ", asked, 1);
  }
  // More texts would not fit a response.
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
  out.sequence = wire.sequence;
  return {};
}

}  // namespace serval
