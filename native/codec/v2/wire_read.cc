// Hot path. Finds, counts and validates the fields of a ModelInferRequest in one walk (after a walk
// over the top level that sizes the lists). Any thread. Knows no model.
#include "codec/v2/wire_read.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/bytes/wire_lists.h"
#include "base/limits.h"
#include "codec/v2/extension.h"

namespace serval {

namespace {

using Bytes = std::span<const uint8_t>;

// The wire type of each contents field's value when it is not packed.
constexpr std::array<WireType, kContentsFields + 1> kContentsTypes = [] {
  std::array<WireType, kContentsFields + 1> types{};
  types.fill(WireType::Varint);
  types[0] = WireType::EndGroup;
  types[InferTensorContents::kFp32Contents] = WireType::Fixed32;
  types[InferTensorContents::kFp64Contents] = WireType::Fixed64;
  types[InferTensorContents::kBytesContents] = WireType::Bytes;
  return types;
}();

struct Walk {
  const uint8_t* origin;
  WireFault& fault;
  WireReader reader(Bytes bytes) const { return {bytes, origin, fault}; }
  bool sound() const { return fault.reason == nullptr; }
};

// Reads an InferParameter.
bool read_choice(const Walk& walk, Bytes bytes, WireParameter& out) {
  WireReader reader = walk.reader(bytes);
  WireField field;
  while (reader.next(field)) {
    switch (field.tag) {
      case bytes_tag(InferParameter::kStringParam):
        if (!reader.text(field, out.text)) return false;
        out.choice = field.number();
        break;
      case wire_tag(InferParameter::kBoolParam, WireType::Varint):
      case wire_tag(InferParameter::kInt64Param, WireType::Varint):
      case wire_tag(InferParameter::kUint64Param, WireType::Varint):
      case wire_tag(InferParameter::kDoubleParam, WireType::Fixed64):
        out.value = field.value;
        out.choice = field.number();
        break;
      default: break;
    }
  }
  return walk.sound();
}

// Reads a tensor's parameter. Unknown ones are accepted, including triton_* (v2-protocol.md 11).
bool read_parameter(const Walk& walk, Bytes entry, WireShared& shared, WireParameter& out) {
  if (!read_wire_parameter(entry, walk.origin, walk.fault, out)) return false;
  if (out.key.starts_with("shared_memory_")) shared.take(out);
  return true;
}

void add_dim(WireInput& input, uint64_t value) {
  ++input.rank;
  if (input.rank <= kRankMax) (void)input.shape.push_back(static_cast<int64_t>(value));
}

bool read_packed_shape(const Walk& walk, Bytes run, WireInput& input) {
  WireReader reader = walk.reader(run);
  uint64_t value = 0;
  while (!reader.at_end()) {
    if (!reader.read_varint(value)) return false;
    add_dim(input, value);
  }
  return true;
}

// Reads InferTensorContents; a repeated one is merged: its values are appended.
bool read_contents(const Walk& walk, Bytes bytes, WireInput& input) {
  input.has_contents = true;
  WireReader reader = walk.reader(bytes);
  WireField field;
  while (reader.next(field)) {
    const uint32_t number = field.number();
    if (number > kContentsFields) continue;
    if (field.type() == kContentsTypes[number]) {
      ++input.counts[number];
      ++input.pieces;
    } else if (field.type() == WireType::Bytes) {
      if (field.bytes.empty()) continue;
      const WireType type = kContentsTypes[number];
      if (!count_packed(reader, type, field.bytes, input.counts[number])) return false;
      ++input.pieces;
      input.packed_run = field.bytes;
    }
  }
  return walk.sound();
}

bool read_input(const Walk& walk, Bytes bytes, WireInput& input) {
  input.message = bytes;
  WireReader reader = walk.reader(bytes);
  WireField field;
  WireParameter ignored;
  bool good = true;
  while (good && reader.next(field)) {
    switch (field.tag) {
      case bytes_tag(InferInputTensor::kName): good = reader.text(field, input.name); break;
      case bytes_tag(InferInputTensor::kDatatype): good = reader.text(field, input.datatype); break;
      case bytes_tag(InferInputTensor::kShape):
        good = read_packed_shape(walk, field.bytes, input);
        break;
      case wire_tag(InferInputTensor::kShape, WireType::Varint): add_dim(input, field.value); break;
      case bytes_tag(InferInputTensor::kParameters):
        good = read_parameter(walk, field.bytes, input.shared, ignored);
        input.has_parameters = true;
        if (is_tabular_parameter(ignored.key)) input.tabular_parameter = ignored.key;
        break;
      case bytes_tag(InferInputTensor::kContents):
        good = read_contents(walk, field.bytes, input);
        break;
      default: break;
    }
  }
  return walk.sound();
}

bool read_output(const Walk& walk, Bytes bytes, WireOutput& output) {
  WireReader reader = walk.reader(bytes);
  WireField field;
  bool good = true;
  while (good && reader.next(field)) {
    if (field.tag == bytes_tag(InferRequestedOutputTensor::kName)) {
      good = reader.text(field, output.name);
    } else if (field.tag == bytes_tag(InferRequestedOutputTensor::kParameters)) {
      WireParameter parameter;
      good = read_parameter(walk, field.bytes, output.shared, parameter);
      if (parameter.key == "classification") output.classification = parameter;
    }
  }
  return walk.sound();
}

// Fills the lists, which have been sized.
bool read_fields(const Walk& walk, Bytes message, WireRequest& out) {
  WireReader reader = walk.reader(message);
  WireField field;
  size_t inputs = 0, outputs = 0, raw = 0;
  WireParameter parameter;
  bool good = true;
  while (good && reader.next(field)) {
    switch (field.tag) {
      case bytes_tag(ModelInferRequest::kModelName):
        good = reader.text(field, out.model_name);
        break;
      case bytes_tag(ModelInferRequest::kModelVersion):
        good = reader.text(field, out.model_version);
        break;
      case bytes_tag(ModelInferRequest::kId): good = reader.text(field, out.id); break;
      case bytes_tag(ModelInferRequest::kParameters):
        good = read_wire_parameter(field.bytes, walk.origin, walk.fault, parameter);
        out.schedule.take(parameter);
        take_wire_sequence(parameter, out.sequence);
        out.has_parameters = true;
        break;
      case bytes_tag(ModelInferRequest::kInputs):
        good = read_input(walk, field.bytes, out.inputs[inputs++]);
        break;
      case bytes_tag(ModelInferRequest::kOutputs):
        good = read_output(walk, field.bytes, out.outputs[outputs++]);
        break;
      case bytes_tag(ModelInferRequest::kRawInputContents):
        out.raw_data[raw++] = field.bytes;
        break;
      default: break;
    }
  }
  return walk.sound();
}

}  // namespace

bool read_wire_parameter(Bytes entry, const uint8_t* origin, WireFault& fault, WireParameter& out) {
  out = {};
  const Walk walk{origin, fault};
  WireReader reader = walk.reader(entry);
  WireField field;
  while (reader.next(field)) {
    if (field.tag == bytes_tag(MapEntry::kKey)) {
      if (!reader.text(field, out.key)) return false;
    } else if (field.tag == bytes_tag(MapEntry::kValue)) {
      if (!read_choice(walk, field.bytes, out)) return false;
    }
  }
  return walk.sound();
}

void WireShared::take(const WireParameter& parameter) {
  Given which = kNone;
  bool good = false;
  if (parameter.key == "shared_memory_region") {
    which = kRegion;
    good = parameter.choice == InferParameter::kStringParam;
    region = parameter.text;
  } else if (parameter.key == "shared_memory_byte_size") {
    which = kBytes;
    good = wire_whole_number(parameter, bytes);
  } else if (parameter.key == "shared_memory_offset") {
    which = kOffset;
    good = wire_whole_number(parameter, offset);
  }
  given = static_cast<uint8_t>(given | which);
  wrong = static_cast<uint8_t>(good ? wrong & ~which : wrong | which);
}

void take_wire_sequence(const WireParameter& parameter, SequenceParameters& sequence) {
  using Id = SequenceParameters::Id;
  const std::string_view key = parameter.key;
  if (!key.starts_with("sequence_")) return;
  const bool is_flag = parameter.choice == InferParameter::kBoolParam;
  if (key == "sequence_start") {
    sequence.start = is_flag && parameter.value != 0;
    sequence.wrong_start = !is_flag;
  } else if (key == "sequence_end") {
    sequence.end = is_flag && parameter.value != 0;
    sequence.wrong_end = !is_flag;
  } else if (key == "sequence_id") {
    const bool is_text = parameter.choice == InferParameter::kStringParam;
    const bool is_number = !is_text && wire_whole_number(parameter, sequence.number);
    sequence.text = is_text ? parameter.text : std::string_view();
    if (is_text) sequence.id = sequence.text.empty() ? Id::None : Id::Text;
    else if (is_number) sequence.id = sequence.number == 0 ? Id::None : Id::Number;
    else sequence.id = Id::Wrong;
  }
}

bool wire_whole_number(const WireParameter& parameter, uint64_t& out) {
  out = parameter.value;
  return parameter.choice == InferParameter::kUint64Param ||
         (parameter.choice == InferParameter::kInt64Param && static_cast<int64_t>(out) >= 0);
}

Error wire_not_whole(const std::string& where, const WireParameter& parameter, uint64_t least) {
  std::string got = "no value";
  switch (parameter.choice) {
    case InferParameter::kBoolParam:
      got = parameter.value != 0 ? "bool_param true" : "bool_param false";
      break;
    case InferParameter::kInt64Param:
      got = "int64_param " + std::to_string(static_cast<int64_t>(parameter.value));
      break;
    case InferParameter::kStringParam: got = "string_param " + wire_quoted(parameter.text); break;
    case InferParameter::kDoubleParam:
      got = "double_param " + std::to_string(std::bit_cast<double>(parameter.value));
      break;
    case InferParameter::kUint64Param:
      got = "uint64_param " + std::to_string(parameter.value);
      break;
    default: break;
  }
  return invalid_argument(where + "parameter " + wire_quoted(parameter.key) +
                          ": expected an integer from " + std::to_string(least) +
                          " (int64_param or uint64_param), got " + got);
}

Status read_wire_schedule(const WireSchedule& wire, SchedulePolicy& out) {
  out = {};
  SchedulePolicy read;
  if (!wire.priority.key.empty() && !wire_whole_number(wire.priority, read.priority)) {
    return wire_not_whole("", wire.priority, 0);
  }
  if (!wire.timeout.key.empty() && !wire_whole_number(wire.timeout, read.timeout_us)) {
    return wire_not_whole("", wire.timeout, 0);
  }
  out = read;
  return {};
}

Status read_wire_request(Bytes message, Arena& arena, WireRequest& out) {
  WireFault fault;
  const Walk walk{message.data(), fault};
  size_t inputs = 0, outputs = 0, raw = 0;
  WireReader reader = walk.reader(message);
  WireField field;
  while (reader.next(field)) {
    inputs += field.tag == bytes_tag(ModelInferRequest::kInputs);
    outputs += field.tag == bytes_tag(ModelInferRequest::kOutputs);
    raw += field.tag == bytes_tag(ModelInferRequest::kRawInputContents);
  }
  if (!walk.sound()) return wire_fault_error(fault);
  if (Status status = check_list_size("inputs", inputs); !status.ok()) return status;
  if (Status status = check_list_size("outputs", outputs); !status.ok()) return status;
  if (Status status = check_list_size("raw_input_contents", raw); !status.ok()) return status;
  if (!make_list(arena, inputs, out.inputs) || !make_list(arena, outputs, out.outputs) ||
      !make_list(arena, raw, out.raw_data)) {
    return make_error(ErrorCode::MemoryFull, "out of memory while reading a ModelInferRequest");
  }
  if (!read_fields(walk, message, out)) return wire_fault_error(fault);
  return {};
}

Error wire_fault_error(const WireFault& fault) {
  return malformed_body("malformed ModelInferRequest: " + std::string(fault.reason) + " at byte " +
                        std::to_string(fault.offset));
}

std::string wire_quoted(std::string_view text) {
  size_t cut = std::min(text.size(), kErrorValueBytesMax);
  if (cut < text.size()) {
    while (cut > 0 && (static_cast<uint8_t>(text[cut]) & 0xc0u) == 0x80u) --cut;
  }
  std::string quoted = "'";
  quoted.append(text.substr(0, cut)).append(cut < text.size() ? "...'" : "'");
  return quoted;
}

}  // namespace serval
