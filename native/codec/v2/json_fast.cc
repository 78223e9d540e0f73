// The fast decoder of V2 infer bodies: one pass over the text, numbers and strings directly into
// tensor memory. It rejects anything rare or wrong (nullptr, false) without a reason; json_plain.cc
// accepts everything that it accepts, with the same tensors. Hot path; pure, any thread. Reading
// past the JSON's end is harmless (kBodyPadding or the binary section follows), so the end is
// compared once per element.
#include "codec/v2/json_fast.h"
#include "base/bytes/utf8.h"
#include "codec/json/cursor.h"
#include "codec/json/number.h"
#include "codec/json/reader.h"
#include "codec/v2/extension.h"
#include "codec/v2/json_parts.h"

namespace serval {

namespace {

using namespace v2;

constexpr const char* kTurnedDown = nullptr;

struct Request {
  Request(const Body& parts, const Signature& model, const Limits& settings, Arena& memory,
          DecodedRequest& decoded)
      : body(parts.json, memory), signature(model), limits(settings), out(decoded) {}

  FastBody body;
  const Signature& signature;
  const Limits& limits;
  DecodedRequest& out;
  BinaryInput* binaries = nullptr;  // capacity: one per input of the model
  size_t binary_count = 0;
  ListedOutput* outputs = nullptr;  // capacity: one per output of the model
  size_t output_count = 0;
  bool binary_by_default = false;
};

// Calls visit(p) at each element of a list.
template <typename Visit>
const char* each_element(const char* p, FastBody& body, Visit visit) {
  if (*p != '[') return nullptr;
  p = skip_blanks(p + 1, body.end);
  if (*p == ']') return p + 1;
  for (;;) {
    if (p >= body.end) return nullptr;
    p = visit(p);
    if (p == nullptr) return nullptr;
    p = skip_blanks(p, body.end);
    if (*p == ']') return p + 1;
    if (*p != ',') return nullptr;
    p = skip_blanks(p + 1, body.end);
  }
}

// Skips a value without children.
const char* skip_scalar(const char* p, FastBody& body) {
  return *p == '[' || *p == '{' ? nullptr : skip_value(p, body);
}

// False: `bit` was already set, so the member is duplicated.
bool mark(uint32_t& seen, uint32_t bit) {
  const bool fresh = (seen & bit) == 0;
  seen |= bit;
  return fresh;
}

const char* read_shape(const char* p, FastBody& body, Shape& shape) {
  return each_element(p, body, [&](const char* at) {
    int64_t dim = 0;
    at = read_integer<int64_t>(at, body.end, dim);
    return dim < 0 || !shape.push_back(dim) ? nullptr : at;
  });
}

// Skips a parameter without meaning here: it must be a scalar, and must not move the data
// elsewhere.
const char* skip_parameter(std::string_view key, const char* p, FastBody& body) {
  const bool refused = key.starts_with("shared_memory_") || is_tabular_parameter(key);
  return refused || *p == 'n' ? nullptr : skip_scalar(p, body);
}

enum : uint32_t {
  kName = 1,
  kDatatype = 2,
  kShape = 4,
  kParameters = 8,
  kData = 16,
  kBinary = 32,
  kClasses = 64
};

struct InputMembers {
  uint32_t seen = 0;
  int index = -1;
  uint64_t binary_bytes = 0;
  const char* data_later = nullptr;  // "data" that precedes datatype and shape
};

const char* read_input_member(std::string_view key, const char* p, Request& request,
                              InputMembers& members, TensorView& tensor) {
  FastBody& body = request.body;
  std::string_view text;
  if (key == "name") {
    p = mark(members.seen, kName) ? read_plain_string(p, body.end, text) : nullptr;
    members.index = request.signature.find_input(text);
    return p;
  }
  if (key == "datatype") {
    p = mark(members.seen, kDatatype) ? read_plain_string(p, body.end, text) : nullptr;
    tensor.dtype = dtype_from_name(text);
    return p;
  }
  if (key == "shape") {
    return mark(members.seen, kShape) ? read_shape(p, body, tensor.shape) : nullptr;
  }
  if (key == "data") {
    if (!mark(members.seen, kData) || *p != '[') return nullptr;
    constexpr uint32_t kKnown = kDatatype | kShape;
    if ((members.seen & kKnown) == kKnown) {
      return read_data(p, body, request.limits.json_depth_max, tensor);
    }
    members.data_later = p;
    return skip_list_unread(p, body.end);
  }
  if (key == "parameters") {
    if (!mark(members.seen, kParameters)) return nullptr;
    return each_member(p, body, [&](std::string_view parameter, const char* at) {
      if (parameter != "binary_data_size") return skip_parameter(parameter, at, body);
      if (!mark(members.seen, kBinary)) return kTurnedDown;
      return read_integer<uint64_t>(at, body.end, members.binary_bytes);
    });
  }
  return skip_scalar(p, body);
}

const char* read_input(const char* p, Request& request) {
  InputMembers members;
  TensorView tensor;
  p = each_member(p, request.body, [&](std::string_view key, const char* at) {
    return read_input_member(key, at, request, members, tensor);
  });
  constexpr uint32_t kNeeded = kName | kDatatype | kShape;
  if (p == nullptr || (members.seen & kNeeded) != kNeeded || members.index < 0) return nullptr;
  const auto index = static_cast<uint32_t>(members.index);
  TensorView& place = request.out.inputs[index];
  const bool twice = place.dtype != DType::Invalid;
  if (twice || tensor.dtype != request.signature.inputs[index].dtype) return nullptr;
  const uint32_t source = members.seen & (kData | kBinary);
  if (source == kBinary) {
    if (!tensor.shape.elements()) return nullptr;
    request.binaries[request.binary_count++] = {index, members.binary_bytes};
  } else if (source != kData) {
    return nullptr;
  }
  if (members.data_later != nullptr) {
    const uint32_t depth_max = request.limits.json_depth_max;
    if (read_data(members.data_later, request.body, depth_max, tensor) == nullptr) return nullptr;
  }
  place = tensor;
  return p;
}

const char* read_output_parameter(std::string_view key, const char* p, FastBody& body,
                                  uint32_t& seen, ListedOutput& output) {
  if (key == "binary_data") {
    output.has_binary = true;
    return mark(seen, kBinary) ? read_bool(p, body, output.binary) : nullptr;
  }
  if (key == "classification") {
    uint64_t classes = 0;
    p = mark(seen, kClasses) ? read_integer<uint64_t>(p, body.end, classes) : nullptr;
    output.classes = listed_classes(classes);
    return output.classes == 0 ? nullptr : p;
  }
  return skip_parameter(key, p, body);
}

const char* read_output(const char* p, Request& request) {
  FastBody& body = request.body;
  uint32_t seen = 0;
  int index = -1;
  ListedOutput output{};
  p = each_member(p, body, [&](std::string_view key, const char* at) {
    if (key == "name") {
      std::string_view name;
      at = mark(seen, kName) ? read_plain_string(at, body.end, name) : nullptr;
      index = request.signature.find_output(name);
      return at;
    }
    if (key == "parameters") {
      if (!mark(seen, kParameters)) return kTurnedDown;
      return each_member(at, body, [&](std::string_view parameter, const char* value) {
        return read_output_parameter(parameter, value, body, seen, output);
      });
    }
    return skip_scalar(at, body);
  });
  if (p == nullptr || index < 0) return nullptr;
  output.index = static_cast<uint32_t>(index);
  for (size_t i = 0; i < request.output_count; ++i) {
    if (request.outputs[i].index == output.index) return nullptr;
  }
  request.outputs[request.output_count++] = output;
  return p;
}

enum : uint32_t {
  kSeenId = 1,
  kInputs = 2,
  kOutputs = 4,
  kRequestParameters = 8,
  kBinaryOutput = 16,
  kPriority = 32,
  kTimeout = 64,
  kSequenceId = 128,
  kSequenceStart = 256,
  kSequenceEnd = 512
};

// Reads a parameter of a sequence. Wrong kinds are left to the plain decoder.
const char* read_sequence_parameter(std::string_view key, const char* p, Request& request,
                                    uint32_t& seen) {
  FastBody& body = request.body;
  SequenceParameters& sequence = request.out.sequence;
  if (key == kSequenceIdKey) {
    if (!mark(seen, kSequenceId)) return nullptr;
    if (*p == '"') {
      p = read_string(p, body, sequence.text);
      if (!sequence.text.empty()) sequence.id = SequenceParameters::Id::Text;
      return p;
    }
    p = read_integer<uint64_t>(p, body.end, sequence.number);
    if (sequence.number != 0) sequence.id = SequenceParameters::Id::Number;
    return p;
  }
  if (key == kSequenceStartKey) {
    return mark(seen, kSequenceStart) ? read_bool(p, body, sequence.start) : nullptr;
  }
  if (key == kSequenceEndKey) {
    return mark(seen, kSequenceEnd) ? read_bool(p, body, sequence.end) : nullptr;
  }
  return skip_parameter(key, p, body);
}

// Only checks the form of priority and timeout: peek_v2_schedule() reads them.
const char* read_request_parameter(std::string_view key, const char* p, Request& request,
                                   uint32_t& seen) {
  FastBody& body = request.body;
  if (key == "binary_data_output") {
    return mark(seen, kBinaryOutput) ? read_bool(p, body, request.binary_by_default) : nullptr;
  }
  const bool priority = key == kPriorityKey;
  if (!priority && key != kTimeoutKey) return read_sequence_parameter(key, p, request, seen);
  uint64_t unused = 0;
  const bool fresh = mark(seen, priority ? kPriority : kTimeout);
  return fresh ? read_integer<uint64_t>(p, body.end, unused) : nullptr;
}

const char* read_request_member(std::string_view key, const char* p, Request& request,
                                uint32_t& seen) {
  FastBody& body = request.body;
  if (key == "inputs") {
    if (!mark(seen, kInputs)) return nullptr;
    return each_element(p, body, [&](const char* at) { return read_input(at, request); });
  }
  if (key == "outputs") {
    if (!mark(seen, kOutputs)) return nullptr;
    return each_element(p, body, [&](const char* at) { return read_output(at, request); });
  }
  if (key == "id") {
    if (!mark(seen, kSeenId)) return nullptr;
    p = read_string(p, body, request.out.id);
    request.out.has_id = true;
    return request.out.id.size() > kIdBytesMax ? nullptr : p;
  }
  if (key == "parameters") {
    if (!mark(seen, kRequestParameters)) return nullptr;
    return each_member(p, body, [&](std::string_view parameter, const char* at) {
      return read_request_parameter(parameter, at, request, seen);
    });
  }
  return skip_scalar(p, body);
}

bool read_request(Request& request) {
  FastBody& body = request.body;
  uint32_t seen = 0;
  const char* p = skip_blanks(body.begin, body.end);
  if (p >= body.end) return false;
  p = each_member(p, body, [&](std::string_view key, const char* at) {
    return read_request_member(key, at, request, seen);
  });
  if (p == nullptr || p > body.end || (seen & kInputs) == 0) return false;
  p = skip_blanks(p, body.end);
  if (p != body.end) return false;
  for (const TensorView& tensor : request.out.inputs) {
    if (tensor.dtype == DType::Invalid) return false;
  }
  return true;
}

}  // namespace

bool decode_v2_infer_fast(std::span<const uint8_t> body, int64_t json_bytes,
                          const Signature& signature, const Limits& limits, Arena& arena,
                          DecodedRequest& out) {
  out.clear();
  Body parts;
  if (!split_body(body, json_bytes, parts).ok()) return false;
  if (json_bytes == 0) return decode_raw_form(body, signature, arena, out).ok();
  if (!is_valid_utf8(parts.json)) return false;
  Request request(parts, signature, limits, arena, out);
  request.binaries = arena.allocate_array<BinaryInput>(signature.inputs.size());
  request.outputs = arena.allocate_array<ListedOutput>(signature.outputs.size());
  if (request.binaries == nullptr || request.outputs == nullptr) return false;
  out.inputs.resize(signature.inputs.size());
  if (!read_request(request)) return false;
  choose_outputs(signature, {request.outputs, request.output_count}, request.binary_by_default,
                 out);
  return read_binary_section(signature, {request.binaries, request.binary_count}, parts, arena, out)
      .ok();
}

}  // namespace serval
