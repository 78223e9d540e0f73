// A slow and plain reader of ModelInferRequest and ModelInferResponse as a reference for the real
// codec: it makes the objects that protobuf would make. Shares no code with native/codec.
// wire_plain_decode.h checks the objects against a model.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/signature.h"

namespace serval::test {

struct PlainField {
  uint32_t number = 0;
  uint32_t type = 0;
  uint64_t value = 0;
  std::string bytes;
};

// One protobuf message as a list of fields; unset if malformed.
class PlainParser {
 public:
  static std::optional<std::vector<PlainField>> parse(std::string_view text) {
    PlainParser parser(text);
    std::vector<PlainField> fields;
    while (parser.at_ < text.size()) {
      PlainField field;
      if (!parser.read_field(field, 0)) return std::nullopt;
      fields.push_back(field);
    }
    return fields;
  }

  static std::optional<std::vector<uint64_t>> parse_varints(std::string_view text) {
    PlainParser parser(text);
    std::vector<uint64_t> values;
    while (parser.at_ < text.size()) {
      uint64_t value = 0;
      if (!parser.read_varint(value)) return std::nullopt;
      values.push_back(value);
    }
    return values;
  }

 private:
  explicit PlainParser(std::string_view text) : text_(text) {}

  bool read_varint(uint64_t& value) {
    value = 0;
    for (int index = 0; index < 10; ++index) {
      if (at_ == text_.size()) return false;
      const uint8_t byte = static_cast<uint8_t>(text_[at_++]);
      if (index == 9 && byte > 1) return false;
      value |= static_cast<uint64_t>(byte & 0x7f) << (7 * index);
      if (byte < 0x80) return true;
    }
    return false;
  }

  bool read_fixed(size_t bytes, uint64_t& value) {
    if (text_.size() - at_ < bytes) return false;
    value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value |= static_cast<uint64_t>(static_cast<uint8_t>(text_[at_ + i])) << (8 * i);
    }
    at_ += bytes;
    return true;
  }

  // Reads a field; a group is skipped up to its end.
  bool read_field(PlainField& field, int depth) {
    const size_t start = at_;
    uint64_t tag = 0;
    if (!read_varint(tag) || tag > UINT32_MAX || at_ - start > 5) return false;
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<uint32_t>(tag & 7);
    if (field.number == 0) return false;
    if (field.type == 0) return read_varint(field.value);
    if (field.type == 1) return read_fixed(8, field.value);
    if (field.type == 5) return read_fixed(4, field.value);
    if (field.type == 2) {
      uint64_t length = 0;
      if (!read_varint(length) || length > text_.size() - at_) return false;
      field.bytes = std::string(text_.substr(at_, length));
      at_ += length;
      return true;
    }
    if (field.type == 4) return depth > 0;
    if (field.type != 3 || depth == 100) return false;
    for (;;) {
      PlainField inner;
      if (!read_field(inner, depth + 1)) return false;
      if (inner.type == 4) return inner.number == field.number;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

inline bool plain_is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const uint8_t lead = static_cast<uint8_t>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) return false;
    if (text.size() - i < length) return false;
    uint32_t point = length == 1 ? lead : lead & (0xffu >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      const uint8_t byte = static_cast<uint8_t>(text[i + k]);
      if ((byte & 0xc0) != 0x80) return false;
      point = point << 6 | (byte & 0x3f);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLeast[length] || point > 0x10ffff) return false;
    if (point >= 0xd800 && point <= 0xdfff) return false;
    i += length;
  }
  return true;
}

// The member of an InferParameter that is set (its field number, 0 = none), with its number.
struct PlainChoice {
  uint32_t member = 0;
  uint64_t value = 0;
  std::string text;  // of a string_param

  // Unset unless it is an int64_param or a uint64_param that is not negative.
  std::optional<uint64_t> whole() const {
    if (member == 5 || (member == 2 && value >> 63 == 0)) return value;
    return std::nullopt;
  }
};

using PlainParameters = std::map<std::string, PlainChoice>;

struct PlainTensor {
  std::string name, datatype;
  std::vector<int64_t> shape;
  PlainParameters parameters;
  bool has_contents = false;
  std::map<uint32_t, std::vector<uint64_t>> numbers;  // per contents field
  std::vector<std::string> strings;
};

struct PlainMessage {
  std::string model_name, model_version, id;
  std::vector<PlainTensor> inputs;
  std::vector<PlainTensor> outputs;
  std::vector<std::string> raw;
  PlainParameters parameters;
};

// Fills objects from fields; each function returns false if the message is malformed.
inline bool plain_choice(std::string_view bytes, PlainChoice& out) {
  const auto value = PlainParser::parse(bytes);
  if (!value) return false;
  const std::map<uint32_t, uint32_t> types = {{1, 0}, {2, 0}, {3, 2}, {4, 1}, {5, 0}};
  for (const PlainField& choice : *value) {
    const auto known = types.find(choice.number);
    if (known == types.end() || known->second != choice.type) continue;
    if (choice.number == 3 && !plain_is_utf8(choice.bytes)) return false;
    out = {choice.number, choice.value, choice.bytes};
  }
  return true;
}

inline bool plain_parameter(std::string_view bytes, PlainParameters& parameters) {
  std::string key;
  PlainChoice choice;
  const auto entry = PlainParser::parse(bytes);
  if (!entry) return false;
  for (const PlainField& field : *entry) {
    if (field.number == 1 && field.type == 2) {
      if (!plain_is_utf8(field.bytes)) return false;
      key = field.bytes;
    }
    if (field.number == 2 && field.type == 2) {
      if (!plain_choice(field.bytes, choice)) return false;
    }
  }
  parameters[key] = choice;
  return true;
}

inline bool plain_contents(std::string_view bytes, PlainTensor& tensor) {
  tensor.has_contents = true;
  const auto fields = PlainParser::parse(bytes);
  if (!fields) return false;
  for (const PlainField& field : *fields) {
    if (field.number > 8) continue;
    if (field.number == 8) {
      if (field.type == 2) tensor.strings.push_back(field.bytes);
      continue;
    }
    std::vector<uint64_t>& numbers = tensor.numbers[field.number];
    const uint32_t single = field.number == 6 ? 5 : field.number == 7 ? 1 : 0;
    if (field.type == single) numbers.push_back(field.value);
    if (field.type != 2) continue;
    if (single == 0) {
      const auto values = PlainParser::parse_varints(field.bytes);
      if (!values) return false;
      numbers.insert(numbers.end(), values->begin(), values->end());
      continue;
    }
    const size_t size = single == 5 ? 4 : 8;
    if (field.bytes.size() % size != 0) return false;
    for (size_t i = 0; i < field.bytes.size(); i += size) {
      uint64_t value = 0;
      std::memcpy(&value, field.bytes.data() + i, size);
      numbers.push_back(value);
    }
  }
  return true;
}

inline bool plain_text(const PlainField& field, std::string& out) {
  out = field.bytes;
  return plain_is_utf8(out);
}

// An input, or an output of a response; a requested output has its parameters in field 2.
inline bool plain_tensor(std::string_view bytes, bool requested_output, PlainTensor& tensor) {
  const auto fields = PlainParser::parse(bytes);
  if (!fields) return false;
  for (const PlainField& field : *fields) {
    bool good = true;
    if (field.type == 2 && field.number == 1) good = plain_text(field, tensor.name);
    if (field.type == 2 && field.number == (requested_output ? 2 : 4)) {
      good = plain_parameter(field.bytes, tensor.parameters);
    } else if (!requested_output && field.type == 2) {
      if (field.number == 2) good = plain_text(field, tensor.datatype);
      if (field.number == 5) good = plain_contents(field.bytes, tensor);
      if (field.number == 3) {
        const auto dims = PlainParser::parse_varints(field.bytes);
        good = dims.has_value();
        if (good) tensor.shape.insert(tensor.shape.end(), dims->begin(), dims->end());
      }
    } else if (!requested_output && field.type == 0 && field.number == 3) {
      tensor.shape.push_back(static_cast<int64_t>(field.value));
    }
    if (!good) return false;
  }
  return true;
}

// `response`: outputs are tensors in field 5, raw contents in field 6.
inline std::optional<PlainMessage> plain_message(std::string_view bytes, bool response) {
  const auto fields = PlainParser::parse(bytes);
  if (!fields) return std::nullopt;
  PlainMessage message;
  for (const PlainField& field : *fields) {
    if (field.type != 2) continue;
    bool good = true;
    PlainTensor tensor;
    if (field.number == 1) good = plain_text(field, message.model_name);
    if (field.number == 2) good = plain_text(field, message.model_version);
    if (field.number == 3) good = plain_text(field, message.id);
    if (field.number == 4) good = plain_parameter(field.bytes, message.parameters);
    if (field.number == 5) {
      good = plain_tensor(field.bytes, false, tensor);
      (response ? message.outputs : message.inputs).push_back(tensor);
    }
    if (field.number == 6 && !response) {
      good = plain_tensor(field.bytes, true, tensor);
      message.outputs.push_back(tensor);
    }
    if (field.number == (response ? 6u : 7u)) message.raw.push_back(field.bytes);
    if (!good) return std::nullopt;
  }
  return message;
}

}  // namespace serval::test
