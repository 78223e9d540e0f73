// The plain decoder of V2 infer bodies: checks the JSON first, then reads it member by member, and
// words every error. Used only for requests that the fast decoder rejected; any thread.
// Source: v2-protocol.md 1.1-1.3 ("suggested" statuses), the published V2 protocol. Decisions where
// those are silent: a duplicate known member is refused; an optional member that is null is absent;
// null is not a parameter value; other members are ignored.
#include <array>

#include "codec/json/echo.h"
#include "codec/v2/extension.h"
#include "codec/v2/json_elements.h"
#include "codec/v2/json_parts.h"
#include "codec/v2/json_walk.h"

namespace serval {

namespace {

using namespace v2;

Status wrong_kind(const std::string& where, std::string_view expected, JsonKind got) {
  return invalid_argument(where + ": expected " + std::string(expected) + ", got " +
                          std::string(json_kind_name(got)));
}

Status no_memory() { return make_error(ErrorCode::MemoryFull, "no memory for the request"); }

std::string quoted(std::string_view name) {
  std::string text = "'";
  return text.append(echo_text(name)).append("'");
}

// "'a', 'b'", cut if it gets long.
std::string name_list(const std::vector<TensorSpec>& specs) {
  std::string text;
  for (const TensorSpec& spec : specs) {
    if (text.size() > kErrorValueBytesMax) return text + ", ...";
    if (!text.empty()) text += ", ";
    text += quoted(spec.name);
  }
  return text;
}

// A member to find: its name and its value's text.
struct Member {
  std::string_view name;
  std::string_view value = {};
  bool may_be_null = false;  // null counts as absent

  bool given() const { return !value.empty(); }
  JsonKind kind() const { return kind_of(value); }
};

class PlainRequest {
 public:
  PlainRequest(const Body& body, const Signature& signature, Arena& arena, DecodedRequest& out)
      : body_(body), signature_(signature), arena_(arena), out_(out) {}

  Status read();

 private:
  // Finds `members` in an object. Errors: one of them is duplicated.
  Status find(std::string_view object, const std::string& where, std::span<Member> members);
  Status string_member(const Member& member, const std::string& where, std::string_view& out);
  Status parameters(std::string_view object, const std::string& where, std::span<Member> wanted);

  Status read_input(std::string_view object, const std::string& where);
  Status read_datatype(const Member& member, const std::string& where, const TensorSpec& spec);
  Status read_shape(const Member& member, const std::string& where, Shape& shape);
  Status read_source(const Member& data, const Member& given, const std::string& where,
                     uint32_t index, TensorView& tensor);
  // Reads the parameters shared_memory_region, _byte_size and _offset.
  Status read_shared(std::span<const Member> given, const std::string& where, uint32_t input);
  Status read_output(std::string_view object, const std::string& where);
  Status read_output_parameters(const Member& given, const std::string& where,
                                ListedOutput& output);
  Status read_parameters(const Member& given, bool& binary_by_default);
  // Reads the parameters sequence_id, _start and _end.
  Status read_sequence(std::span<const Member> given);
  // Reads a whole number of `least` or more.
  Status read_whole(const Member& member, const std::string& where, uint64_t least, uint64_t& out);
  Status read_flag(const Member& member, const std::string& where, bool& out);

  const Body& body_;
  const Signature& signature_;
  Arena& arena_;
  DecodedRequest& out_;
  std::vector<BinaryInput> binaries_;
  std::vector<ListedOutput> outputs_;
};

Status PlainRequest::find(std::string_view object, const std::string& where,
                          std::span<Member> members) {
  for (JsonItems items(object); items.next();) {
    for (Member& member : members) {
      if (!items.is(member.name)) continue;
      if (member.may_be_null && kind_of(items.value()) == JsonKind::Null) continue;
      if (member.given()) return invalid_argument(where + ": " + quoted(member.name) + " twice");
      member.value = items.value();
    }
  }
  return {};
}

Status PlainRequest::string_member(const Member& member, const std::string& where,
                                   std::string_view& out) {
  const std::string name = where + ": '" + std::string(member.name) + "'";
  if (!member.given()) return invalid_argument(name + " is missing");
  if (member.kind() != JsonKind::String) return wrong_kind(name, "a string", member.kind());
  return string_of(member.value, arena_, out) ? Status() : no_memory();
}

// Parameter values have to be strings, numbers or booleans.
Status PlainRequest::parameters(std::string_view object, const std::string& where,
                                std::span<Member> wanted) {
  if (kind_of(object) != JsonKind::Object) return wrong_kind(where, "an object", kind_of(object));
  for (JsonItems items(object); items.next();) {
    const JsonKind got = kind_of(items.value());
    if (got != JsonKind::Null && got != JsonKind::Array && got != JsonKind::Object) continue;
    const std::string_view written = items.key();
    std::string_view key;  // starts from the text with quotation marks, to be decoded
    if (!string_of({written.data() - 1, written.size() + 2}, arena_, key)) return no_memory();
    return wrong_kind(where + " " + quoted(key), "a string, number or boolean", got);
  }
  return find(object, where, wanted);
}

Status PlainRequest::read_flag(const Member& member, const std::string& where, bool& out) {
  const JsonKind got = member.kind();
  if (got != JsonKind::True && got != JsonKind::False) {
    return wrong_kind(where + " '" + std::string(member.name) + "'", "true or false", got);
  }
  out = got == JsonKind::True;
  return {};
}

Status PlainRequest::read_datatype(const Member& member, const std::string& where,
                                   const TensorSpec& spec) {
  std::string_view name;
  Status status = string_member(member, where, name);
  if (!status.ok()) return status;
  const DType dtype = dtype_from_name(name);
  if (dtype == DType::Invalid) {
    return invalid_argument(where + ": unknown datatype " + quoted(name));
  }
  if (dtype == spec.dtype) return {};
  return invalid_argument(where + ": expected datatype " + std::string(dtype_name(spec.dtype)) +
                          ", got " + std::string(name) +
                          (dtype_is_tabular(dtype) ? of_tabular_extension(", which") : ""));
}

Status PlainRequest::read_shape(const Member& member, const std::string& where, Shape& shape) {
  if (!member.given()) return invalid_argument(where + ": 'shape' is missing");
  if (member.kind() != JsonKind::Array) {
    return wrong_kind(where + ": 'shape'", "an array", member.kind());
  }
  size_t index = 0;
  for (JsonItems items(member.value); items.next(); ++index) {
    const std::string_view value = items.value();
    JsonNumber number;
    int64_t dim = -1;
    const bool integer = kind_of(value) == JsonKind::Number && is_integer_text(value) &&
                         JsonLexer(value, arena_).number(number) && number.to_integer(dim);
    if (integer && dim == -1 && index == 2) {
      return invalid_argument(where + of_tabular_extension(": shape[2]: -1"));
    }
    if (!integer || dim < 0) {
      return invalid_argument(where + ": shape[" + std::to_string(index) +
                              "]: expected an integer from 0 to 9223372036854775807, got " +
                              echo_text(value));
    }
    if (shape.push_back(dim)) continue;
    return invalid_argument(where + ": shape has more than " + std::to_string(kRankMax) +
                            " dimensions");
  }
  if (shape.elements()) return {};
  return invalid_argument(where + ": shape " + shape.to_string() +
                          " overflows: more elements than 64 bits can count");
}

Status PlainRequest::read_whole(const Member& member, const std::string& where, uint64_t least,
                                uint64_t& out) {
  if (whole_number(member.value, out) && out >= least) return {};
  return not_whole(where, member.name, least, member.value);
}

// Finds the tensor's elements: exactly one of data, the binary section, shared memory.
Status PlainRequest::read_source(const Member& data, const Member& given, const std::string& where,
                                 uint32_t index, TensorView& tensor) {
  std::array<Member, 6> wanted = {{{"binary_data_size"},
                                   {"shared_memory_region"},
                                   {"shared_memory_byte_size"},
                                   {"shared_memory_offset"},
                                   {"features"},
                                   {"null_indices"}}};
  if (given.given()) {
    Status status = parameters(given.value, where + ": parameters", wanted);
    if (!status.ok()) return status;
  }
  for (const size_t tabular : {4, 5}) {
    if (!wanted[tabular].given()) continue;
    const std::string name = "'" + std::string(wanted[tabular].name) + "'";
    return invalid_argument(where + ": parameters: " + of_tabular_extension(name));
  }
  const bool has_binary = wanted[0].given();
  const bool has_shared = wanted[1].given() || wanted[2].given() || wanted[3].given();
  const int sources = int{data.given()} + int{has_binary} + int{has_shared};
  if (sources != 1) {
    return invalid_argument(where +
                            ": expected exactly one of 'data', parameters 'binary_data_size' and "
                            "parameters 'shared_memory_region', got " +
                            std::to_string(sources));
  }
  if (has_shared) return read_shared({&wanted[1], 3}, where + ": parameters", index);
  if (has_binary) {
    BinaryInput binary{index, 0};
    Status status = read_whole(wanted[0], where + ": parameters", 0, binary.bytes);
    if (status.ok()) binaries_.push_back(binary);
    return status;
  }
  const bool scalar = tensor.shape.rank() == 0 && data.kind() != JsonKind::Object;
  if (data.kind() != JsonKind::Array && !scalar) {
    return wrong_kind(where + ": 'data'", "an array", data.kind());
  }
  const std::string_view name = signature_.inputs[index].name;
  return read_elements(data.value, name, arena_, tensor);
}

Status PlainRequest::read_shared(std::span<const Member> given, const std::string& where,
                                 uint32_t input) {
  SharedTensor place;
  place.input = input;
  Status status = string_member(given[0], where, place.region);
  if (!status.ok()) return status;
  if (!given[1].given()) {
    return invalid_argument(where + ": '" + std::string(given[1].name) + "' is missing");
  }
  status = read_whole(given[1], where, 0, place.bytes);
  if (status.ok() && given[2].given()) status = read_whole(given[2], where, 0, place.offset);
  if (status.ok()) out_.shared.push_back(std::move(place));
  return status;
}

Status PlainRequest::read_input(std::string_view object, const std::string& where) {
  if (kind_of(object) != JsonKind::Object) return wrong_kind(where, "an object", kind_of(object));
  std::array<Member, 5> members = {
      {{"name"}, {"datatype"}, {"shape"}, {"data"}, {"parameters", {}, true}}};
  Status status = find(object, where, members);
  std::string_view name;
  if (status.ok()) status = string_member(members[0], where, name);
  if (!status.ok()) return status;
  const int found = signature_.find_input(name);
  if (found < 0) {
    return invalid_argument(where + ": unexpected input " + quoted(name) + "; the model takes " +
                            (signature_.inputs.empty() ? "none" : name_list(signature_.inputs)));
  }
  const auto index = static_cast<uint32_t>(found);
  const TensorSpec& spec = signature_.inputs[index];
  const std::string input = "input " + quoted(name);
  if (out_.inputs[index].dtype != DType::Invalid) {
    return invalid_argument(input + " is given twice");
  }
  TensorView tensor;
  tensor.dtype = spec.dtype;
  status = read_datatype(members[1], input, spec);
  if (status.ok()) status = read_shape(members[2], input, tensor.shape);
  if (status.ok()) status = read_source(members[3], members[4], input, index, tensor);
  if (status.ok()) out_.inputs[index] = tensor;
  return status;
}

Status PlainRequest::read_output(std::string_view object, const std::string& where) {
  if (kind_of(object) != JsonKind::Object) return wrong_kind(where, "an object", kind_of(object));
  std::array<Member, 2> members = {{{"name"}, {"parameters", {}, true}}};
  Status status = find(object, where, members);
  std::string_view name;
  if (status.ok()) status = string_member(members[0], where, name);
  if (!status.ok()) return status;
  const int found = signature_.find_output(name);
  if (found < 0) {
    return invalid_argument(where + ": unknown output " + quoted(name) + "; the model has " +
                            (signature_.outputs.empty() ? "none" : name_list(signature_.outputs)));
  }
  const std::string output_text = "output " + quoted(name);
  ListedOutput output{static_cast<uint32_t>(found), false, false, 0};
  for (const ListedOutput& other : outputs_) {
    if (other.index == output.index) return {};  // returned once, as in Triton
  }
  if (members[1].given()) status = read_output_parameters(members[1], output_text, output);
  outputs_.push_back(output);
  return status;
}

Status PlainRequest::read_output_parameters(const Member& given, const std::string& where,
                                            ListedOutput& output) {
  std::array<Member, 5> wanted = {{{"binary_data"},
                                   {"classification"},
                                   {"shared_memory_region"},
                                   {"shared_memory_byte_size"},
                                   {"shared_memory_offset"}}};
  Status status = parameters(given.value, where + ": parameters", wanted);
  if (!status.ok()) return status;
  if (wanted[0].given()) {
    output.has_binary = true;
    status = read_flag(wanted[0], where + ": parameters", output.binary);
  }
  const bool is_shared = wanted[2].given() || wanted[3].given() || wanted[4].given();
  if (status.ok() && is_shared && wanted[1].given()) {
    return invalid_argument(where + " can't set both 'shared_memory_region' and 'classification'");
  }
  if (status.ok() && is_shared) {
    status = read_shared({&wanted[2], 3}, where + ": parameters", SharedTensor::kOutput);
    output.shared = static_cast<uint32_t>(out_.shared.size());
  }
  if (!status.ok() || !wanted[1].given()) return status;
  uint64_t classes = 0;
  status = read_whole(wanted[1], where + ": parameters", 1, classes);
  output.classes = listed_classes(classes);
  return status;
}

// Reads the request's own parameters; only checks priority and timeout, which peek_v2_schedule()
// reads.
Status PlainRequest::read_parameters(const Member& given, bool& binary_by_default) {
  std::array<Member, 6> wanted = {{{"binary_data_output"},
                                   {kPriorityKey},
                                   {kTimeoutKey},
                                   {kSequenceIdKey},
                                   {kSequenceStartKey},
                                   {kSequenceEndKey}}};
  const std::string where = "parameters";
  Status status = parameters(given.value, where, wanted);
  if (status.ok() && wanted[0].given()) {
    status = read_flag(wanted[0], where, binary_by_default);
  }
  for (size_t i = 1; i < 3 && status.ok(); ++i) {
    uint64_t unused = 0;
    if (wanted[i].given()) status = read_whole(wanted[i], where, 0, unused);
  }
  return status.ok() ? read_sequence({&wanted[3], 3}) : std::move(status);
}

Status PlainRequest::read_sequence(std::span<const Member> given) {
  using Id = SequenceParameters::Id;
  SequenceParameters& sequence = out_.sequence;
  const auto flag = [](const Member& member, bool& value, bool& wrong) {
    if (!member.given()) return;
    value = member.kind() == JsonKind::True;
    wrong = !value && member.kind() != JsonKind::False;
  };
  flag(given[1], sequence.start, sequence.wrong_start);
  flag(given[2], sequence.end, sequence.wrong_end);
  if (!given[0].given()) return {};
  if (given[0].kind() == JsonKind::String) {
    if (!string_of(given[0].value, arena_, sequence.text)) return no_memory();
    if (!sequence.text.empty()) sequence.id = Id::Text;
    return {};
  }
  const bool whole = whole_number(given[0].value, sequence.number);
  if (!whole) sequence.id = Id::Wrong;
  else if (sequence.number != 0) sequence.id = Id::Number;
  return {};
}

Status PlainRequest::read() {
  const std::string_view root = json_root(body_.json);
  if (kind_of(root) != JsonKind::Object) {
    return wrong_kind("request body", "an object", kind_of(root));
  }
  std::array<Member, 4> members = {
      {{"inputs"}, {"outputs", {}, true}, {"parameters", {}, true}, {"id", {}, true}}};
  Status status = find(root, "request body", members);
  if (!status.ok()) return status;
  const auto& [inputs, outputs, given, id] = members;
  if (id.given()) {
    status = string_member(id, "request body", out_.id);
    if (!status.ok()) return status;
    out_.has_id = true;
    if (out_.id.size() > kIdBytesMax) {
      return invalid_argument("id: expected at most " + std::to_string(kIdBytesMax) +
                              " bytes, got " + std::to_string(out_.id.size()));
    }
  }
  bool binary_by_default = false;
  if (given.given()) status = read_parameters(given, binary_by_default);
  if (!status.ok()) return status;
  if (!inputs.given()) return invalid_argument("request body: 'inputs' is missing");
  if (inputs.kind() != JsonKind::Array) {
    return wrong_kind("'inputs'", "an array of objects", inputs.kind());
  }
  if (outputs.given() && outputs.kind() != JsonKind::Array) {
    return wrong_kind("'outputs'", "an array of objects", outputs.kind());
  }
  out_.inputs.resize(signature_.inputs.size());
  size_t place = 0;
  for (JsonItems items(inputs.value); items.next(); ++place) {
    status = read_input(items.value(), "inputs[" + std::to_string(place) + "]");
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < out_.inputs.size(); ++i) {
    if (out_.inputs[i].dtype != DType::Invalid || signature_.inputs[i].may_be_absent) continue;
    return invalid_argument("input " + quoted(signature_.inputs[i].name) + " is missing");
  }
  if (outputs.given()) {
    place = 0;
    for (JsonItems items(outputs.value); items.next(); ++place) {
      status = read_output(items.value(), "outputs[" + std::to_string(place) + "]");
      if (!status.ok()) return status;
    }
  }
  choose_outputs(signature_, outputs_, binary_by_default, out_);
  return read_binary_section(signature_, binaries_, body_, arena_, out_);
}

}  // namespace

Status decode_v2_infer_plain(std::span<const uint8_t> body, int64_t json_bytes,
                             const Signature& signature, const Limits& limits, Arena& arena,
                             DecodedRequest& out) {
  out.clear();
  Body parts;
  if (Status status = split_body(body, json_bytes, parts); !status.ok()) return status;
  if (json_bytes == 0) return decode_raw_form(body, signature, arena, out);
  Status status = check_json(parts.json, limits.json_depth_max, arena);
  if (!status.ok()) return status;
  return PlainRequest(parts, signature, arena, out).read();
}

}  // namespace serval
