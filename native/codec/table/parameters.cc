// Parses the extension's parameters. Hot path; any thread.
#include "codec/table/parameters.h"

#include <charconv>
#include <cstring>

#include "base/values/decimal.h"

namespace serval::table {

namespace {

using Kind = ParameterValue::Kind;

Error wrong(const std::string& where, std::string_view key, std::string_view expected,
            const ParameterValue& value) {
  return invalid_argument(where + "parameter '" + std::string(key) + "': expected " +
                          std::string(expected) + ", got " + quoted(value.text));
}

Status take_text(const std::string& where, std::string_view key, const ParameterValue& value,
                 std::string_view& out) {
  if (value.kind != Kind::Text) return wrong(where, key, "a string (string_param)", value);
  out = value.text;
  return {};
}

// Reads a small whole number, given as text or as a number.
Status take_count(const std::string& where, std::string_view key, const ParameterValue& value,
                  unsigned least, uint8_t& out) {
  int64_t count = value.integer;
  bool right = value.kind == Kind::Integer;
  if (value.kind == Kind::Text) {
    const char* end = value.text.data() + value.text.size();
    const auto read = std::from_chars(value.text.data(), end, count);
    right = read.ec == std::errc{} && read.ptr == end;
  }
  if (!right || count < least || count > kDecimalPrecisionMax) {
    return wrong(where, key,
                 "an integer from " + std::to_string(least) + " to " +
                     std::to_string(kDecimalPrecisionMax) + " (string_param)",
                 value);
  }
  out = static_cast<uint8_t>(count);
  return {};
}

Status take_flag(std::string_view key, const ParameterValue& value, bool& out) {
  if (value.kind == Kind::Bool) {
    out = value.flag;
    return {};
  }
  const bool text = value.kind == Kind::Text && (value.text == "true" || value.text == "false");
  if (!text) return wrong("", key, "true or false", value);
  out = value.text == "true";
  return {};
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

void trim_front(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

void trim_back(std::string_view& text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
}

// Reads a quoted name at the front of `rest`, which is after its opening quotation mark.
bool take_quoted(std::string_view& rest, Arena& arena, std::string_view& name) {
  size_t end = 0, doubled = 0;
  for (;; ++end) {
    if (end >= rest.size()) return false;
    if (rest[end] != '"') continue;
    if (end + 1 >= rest.size() || rest[end + 1] != '"') break;
    ++end;
    ++doubled;
  }
  name = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  if (doubled == 0) return true;
  char* text = arena.allocate_array<char>(name.size());
  if (text == nullptr) return false;
  char* out = text;
  for (size_t i = 0; i < name.size(); ++i) {
    *out++ = name[i];
    i += name[i] == '"' ? 1 : 0;
  }
  name = {text, static_cast<size_t>(out - text)};
  return true;
}

}  // namespace

Status set_tensor_parameter(std::string_view key, const ParameterValue& value,
                            const RequestTensor& tensor, TensorParameters& out) {
  const auto where = [&tensor] { return input_text(tensor) + ": "; };
  if (key == kFeaturesKey) {
    out.has_features = true;
    if (value.kind == Kind::Text) out.features = value.text;
    else return wrong(where(), key, "a string (string_param)", value);
  } else if (key == kNullIndicesKey) {
    out.has_null_indices = true;
    if (value.kind == Kind::Text) out.null_indices = value.text;
    else return wrong(where(), key, "a string (string_param)", value);
  } else if (key == kPrecisionKey) {
    out.has_precision = true;
    return take_count(where(), key, value, 1, out.precision);
  } else if (key == kScaleKey) {
    out.has_scale = true;
    return take_count(where(), key, value, 0, out.scale);
  } else if (key == kFormatKey) {
    out.has_format = true;
    out.format = value.text;
  }
  return {};
}

Status check_parameters(const RequestTensor& tensor) {
  const TensorParameters& given = tensor.parameters;
  const bool is_time = tensor.dtype == DType::Date || tensor.dtype == DType::Timestamp;
  if (is_time && given.has_format && !given.is_iso()) {
    return invalid_argument(input_text(tensor) + ": parameter 'format': expected '" +
                            std::string(kIsoFormat) + "', got " + quoted(given.format));
  }
  if (!given.has_precision && !given.has_scale) return {};
  if (given.has_precision != given.has_scale) {
    return invalid_argument(input_text(tensor) + ": expected both parameters 'precision' and " +
                            "'scale' or neither, got only '" +
                            (given.has_precision ? "precision'" : "scale'"));
  }
  if (given.scale > given.precision) {
    return invalid_argument(input_text(tensor) + ": parameter 'scale': expected at most the " +
                            "precision, " + std::to_string(given.precision) + ", got " +
                            std::to_string(given.scale));
  }
  const bool fits = tensor.dtype == DType::Fp64 || dtype_is_text(tensor.dtype);
  if (fits) return {};
  return invalid_argument(input_text(tensor) + ": decimals (parameters 'precision' and 'scale') " +
                          "have the datatype FP64 or STRING, got " +
                          std::string(dtype_name(tensor.dtype)));
}

Status set_request_parameter(std::string_view key, const ParameterValue& value,
                             RequestParameters& out) {
  std::string_view text;
  Status taken;
  if (key == kStrictKey) {
    taken = take_flag(key, value, out.strict);
  } else if (key == kGroupOutputsKey) {
    taken = take_flag(key, value, out.options.group_outputs);
  } else if (key == kOnInvalidKey) {
    taken = take_text("", key, value, text);
    out.options.null_for_invalid = text == "null";
    if (taken.ok() && text != "null" && text != "error") {
      return wrong("", key, "'error' or 'null'", value);
    }
  } else if (key == kStringDatatypeKey) {
    taken = take_text("", key, value, text);
    out.has_string_datatype = true;
    out.options.text_is_string = text == "STRING";
    if (taken.ok() && text != "STRING" && text != "BYTES") {
      return wrong("", key, "'STRING' or 'BYTES'", value);
    }
  } else {
    return {};
  }
  out.extended = true;
  return taken;
}

bool next_feature(std::string_view& rest, bool first, Arena& arena, std::string_view& name,
                  std::string& problem) {
  if (!first) {
    if (rest.empty()) return false;
    rest.remove_prefix(1);  // skips the comma
  }
  trim_front(rest);
  if (rest.starts_with('"')) {
    rest.remove_prefix(1);
    if (!take_quoted(rest, arena, name)) problem = "expected a closing quotation mark";
    trim_front(rest);
    if (problem.empty() && !rest.empty() && rest[0] != ',') {
      problem = "expected a comma after a quoted name";
    }
  } else {
    const size_t comma = rest.find(',');
    name = rest.substr(0, comma);
    rest.remove_prefix(name.size());
    trim_back(name);
  }
  if (problem.empty() && name.empty()) problem = "expected names with commas between them";
  return problem.empty();
}

Status read_null_indices(const RequestTensor& tensor, uint64_t cells, uint8_t* nulls) {
  std::string_view rest = tensor.parameters.null_indices;
  trim_front(rest);
  while (!rest.empty()) {
    uint64_t index = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    rest.remove_prefix(static_cast<size_t>(read.ptr - rest.data()));
    trim_front(rest);
    const bool ended = rest.empty() || (rest[0] == ',' && rest.size() > 1);
    if (read.ec != std::errc{} || !ended || index >= cells) {
      return invalid_argument(input_text(tensor) +
                              ": parameter 'null_indices': expected integers " + "below " +
                              std::to_string(cells) + " with commas between them, got " +
                              quoted(tensor.parameters.null_indices));
    }
    nulls[index] = 1;
    if (!rest.empty()) rest.remove_prefix(1);
    trim_front(rest);
  }
  return {};
}

}  // namespace serval::table
