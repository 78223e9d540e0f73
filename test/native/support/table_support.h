// Models, requests and texts for the tests of tabular codecs. Test time only.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/generated/engine_names.h"
#include "base/values/decimal.h"
#include "codec/table/table.h"
#include "support/json_v2_compare.h"
#include "support/wire_builder.h"

namespace serval::test {

using plan::Type;
using Protocol = fb::Protocol;

inline FieldSpec field(std::string name, Type type) {
  FieldSpec made;
  made.name = std::move(name);
  made.type = type;
  return made;
}
// A field as in Spark models: its type is only known from its use, or not at all.
inline FieldSpec any_field(std::string name, Type type = Type::Any) {
  FieldSpec made = field(std::move(name), type);
  made.any = true;
  return made;
}
inline FieldSpec list_field(std::string name, Type element) {
  FieldSpec made = field(std::move(name), Type::List);
  made.element = element;
  return made;
}
inline FieldSpec vector_field(std::string name, int32_t size = -1) {
  FieldSpec made = field(std::move(name), Type::Vector);
  made.size = size;
  return made;
}
inline FieldSpec decimal_field(std::string name, uint8_t precision, uint8_t scale) {
  FieldSpec made = field(std::move(name), Type::Decimal);
  made.precision = precision;
  made.scale = scale;
  return made;
}
// A PMML field: text is parsed as its type.
inline FieldSpec pmml_field(std::string name, Type type) {
  FieldSpec made = field(std::move(name), type);
  made.parse_text = true;
  return made;
}

// A tabular model: fields and outputs, with the matching signature.
struct TableModel {
  TableModel(std::vector<FieldSpec> fields, std::vector<FieldSpec> outputs) {
    table.fields = std::move(fields);
    table.outputs = std::move(outputs);
    table.sort_fields();
    table.extra.assign(table.outputs.size(), false);
    signature.name = "serving_default";
    for (const FieldSpec& one : table.fields) signature.inputs.push_back(spec_of(one));
    for (const FieldSpec& one : table.outputs) signature.outputs.push_back(spec_of(one));
  }
  static TensorSpec spec_of(const FieldSpec& field) {
    TensorSpec spec;
    spec.name = field.name;
    spec.dtype = dtype_of(field.type);
    spec.dims = {-1};
    return spec;
  }
  TableSchema table;
  Signature signature;
};

// One output: a double.
inline TableModel model_of(std::vector<FieldSpec> fields) {
  return {std::move(fields), {field("y", Type::Double)}};
}

inline std::string element_text(const TensorView& view, size_t at) {
  if (dtype_is_text(view.dtype)) return "'" + std::string(view.strings[at]) + "'";
  return visit(view.dtype, [&]<typename T>(TypeTag<T>) -> std::string {
    if constexpr (std::same_as<T, Decimal>) {
      Decimal value;
      std::memcpy(&value, view.data + at * sizeof value, sizeof value);
      char text[kDecimalTextMax];
      return {text, write_decimal(text, value.unscaled, view.scale)};
    } else if constexpr (std::same_as<T, bool>) {
      return view.data[at] != 0 ? "true" : "false";
    } else if constexpr (std::is_arithmetic_v<T>) {
      T value;
      std::memcpy(&value, view.data + at * sizeof value, sizeof value);
      if constexpr (std::floating_point<T>) {
        if (value != value) return "nan";
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
        return text;
      } else {
        return std::to_string(value);
      }
    } else {
      return "?";
    }
  });
}

// Shows a tensor as "FP64[3]: 1, null, 2.5" or "VECTOR[2,-1]: [1, 2], [3]".
inline std::string show(const TensorView& view) {
  std::string text(view.dtype == DType::Decimal ? "DECIMAL" : dtype_name(view.dtype));
  text += view.shape.to_string() + ":";
  size_t at = 0;
  for (int64_t row = 0; row < view.shape[0]; ++row) {
    text += row == 0 ? " " : ", ";
    const bool cells = view.shape.rank() == 2;
    size_t count = 1;
    if (cells) {
      count = view.lengths != nullptr ? view.lengths[row] : static_cast<size_t>(view.shape[1]);
    }
    const bool null = view.states != nullptr && view.states[row] != 0;
    std::string cell;
    for (size_t i = 0; i < count; ++i) cell += (i == 0 ? "" : ", ") + element_text(view, at++);
    text += null ? "null" : cells ? "[" + cell + "]" : cell;
  }
  return text;
}

// A request decoded by one of the protocols, with the memory that it borrows.
class TableDecoded {
 public:
  // `header`: the header of the binary data extension.
  TableDecoded(Protocol protocol, const TableModel& model, std::string_view bytes,
               int64_t header = -1, const Limits& limits = {})
      : body_(bytes), status_(decode(protocol, model, header, limits)) {}

  bool ok() const { return status_.ok(); }
  std::string error() const { return status_.ok() ? "" : status_.error().message; }
  ErrorCode code() const { return status_.ok() ? ErrorCode::Ok : status_.error().code; }
  const DecodedRequest& request() const { return request_; }
  DecodedRequest& request() { return request_; }
  // All fields, or the error.
  std::string text() const {
    if (!ok()) return "error: " + error();
    std::string all;
    for (const TensorView& view : request_.inputs) all += (all.empty() ? "" : "; ") + show(view);
    return all;
  }
  std::string outputs() const {
    std::string all;
    for (const RequestedOutput& output : request_.outputs) {
      all += (all.empty() ? "" : ",") + std::to_string(output.index) + (output.binary ? "b" : "");
    }
    return all;
  }
  bool is_view(size_t input) const {
    const uint8_t* data = request_.inputs[input].data;
    return data >= body_.bytes().data() && data < body_.bytes().data() + body_.bytes().size();
  }

 private:
  Status decode(Protocol protocol, const TableModel& model, int64_t header, const Limits& limits) {
    const TableSchema& table = model.table;
    const Signature& signature = model.signature;
    switch (protocol) {
      case Protocol::V2Grpc:
        return decode_table_wire(body_.bytes(), table, signature, limits, arena_, request_);
      case Protocol::V2Rest:
        return decode_table_v2_json(body_.bytes(), header, table, signature, limits, arena_,
                                    request_);
      case Protocol::TfPredict:
        return decode_table_tf(body_.bytes(), table, {&signature, 1}, limits, arena_, request_);
      default: return decode_table_v1(body_.bytes(), table, signature, limits, arena_, request_);
    }
  }

  PaddedBody body_;
  Arena arena_;
  DecodedRequest request_;
  Status status_;
};

// A parameter with a string_param.
inline WireBuilder text_parameter(std::string_view key, std::string_view text) {
  return WireBuilder().bytes(1, key).message(2, WireBuilder().bytes(3, text));
}

// Builds one input of a ModelInferRequest.
class TableInput {
 public:
  TableInput(std::string_view name, std::string_view datatype, std::initializer_list<int64_t> shape)
      : wire_(wire_input(name, datatype, shape)) {}
  TableInput& parameter(std::string_view key, std::string_view text) {
    wire_.message(4, text_parameter(key, text));
    return *this;
  }
  TableInput& parameter(const WireBuilder& entry) {
    wire_.message(4, entry);
    return *this;
  }
  TableInput& doubles(std::initializer_list<double> values) {
    return contents(WireBuilder().packed_fixed<double>(7, values));
  }
  TableInput& floats(std::initializer_list<float> values) {
    return contents(WireBuilder().packed_fixed<float>(6, values));
  }
  TableInput& ints(std::initializer_list<int64_t> values) {
    return contents(WireBuilder().packed(2, values));
  }
  TableInput& longs(std::initializer_list<int64_t> values) {
    return contents(WireBuilder().packed(3, values));
  }
  TableInput& bools(std::initializer_list<int64_t> values) {
    return contents(WireBuilder().packed(1, values));
  }
  TableInput& texts(std::initializer_list<std::string_view> values) {
    WireBuilder all;
    for (const std::string_view value : values) all.bytes(8, value);
    return contents(all);
  }
  TableInput& contents(const WireBuilder& all) {
    wire_.message(5, all);
    return *this;
  }
  const WireBuilder& wire() const { return wire_; }

 private:
  WireBuilder wire_;
};

inline WireBuilder table_message(std::initializer_list<TableInput> inputs) {
  WireBuilder message;
  for (const TableInput& input : inputs) message.message(5, input.wire());
  return message;
}

// Decodes a message with these inputs and returns the fields as text.
inline std::string decoded_wire(const TableModel& model, std::initializer_list<TableInput> inputs) {
  return TableDecoded(Protocol::V2Grpc, model, table_message(inputs).str()).text();
}
inline std::string decoded_wire(const TableModel& model, const WireBuilder& message) {
  return TableDecoded(Protocol::V2Grpc, model, message.str()).text();
}
// The same for V2 JSON: `inputs` is the content of "inputs", without its brackets.
inline std::string decoded_json(const TableModel& model, std::string_view inputs) {
  const std::string body = "{\"inputs\":[" + std::string(inputs) + "]}";
  return TableDecoded(Protocol::V2Rest, model, body).text();
}
inline std::string decoded_v1(const TableModel& model, std::string_view body) {
  return TableDecoded(Protocol::V1Predict, model, body).text();
}

}  // namespace serval::test
