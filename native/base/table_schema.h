// The fields and outputs of a tabular model, for codecs. Complements the signature, whose inputs
// and outputs are the same in the same order. Data, immutable after load; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/values/plan_types.h"

namespace serval {

struct FieldSpec {
  std::string name;
  plan::Type type = plan::Type::Any;     // shown in metadata; values are converted to it
  plan::Type element = plan::Type::Any;  // for a List
  int32_t size = -1;                     // for a Vector, or a List in an output; -1 = free
  bool any = false;                      // accepts the request's type, whatever `type` says
  bool optional = false;                 // if omitted, all values are missing
  bool by_default = true;                // false: no default output needs it; see output_fields
  bool parse_text = false;               // text is parsed as `type`
  uint8_t precision = 0, scale = 0;      // for Decimal
};

struct TableSchema {
  std::vector<FieldSpec> fields;   // in the order of signature.inputs
  std::vector<FieldSpec> outputs;  // in the order of signature.outputs
  std::vector<bool> extra;         // outputs that are only returned on request
  // For each output, the fields that it needs and no default output does (!by_default). A request
  // that does not ask for that output may omit them. Empty: there are none.
  std::vector<std::vector<uint32_t>> output_fields;
  bool nan_is_missing = false;  // for Float and Double fields
  // A tensor [rows, fields] whose name is not that of a field has all fields, in their order.
  bool matrix = false;
  bool of_tensors = false;  // describes a tensor model: codec/table/tensor_fields.h
  std::string timezone;     // "" = UTC

  std::vector<uint32_t> by_name;  // indices of the fields, sorted by name: sort_fields()

  // Call it once all fields are added: find_field() then uses binary search.
  void sort_fields() {
    by_name.resize(fields.size());
    for (uint32_t i = 0; i < by_name.size(); ++i) by_name[i] = i;
    std::sort(by_name.begin(), by_name.end(),
              [this](uint32_t a, uint32_t b) { return fields[a].name < fields[b].name; });
  }

  // Index of the field, or -1. `guess`: its index if requests keep the model's order.
  int find_field(std::string_view name, size_t guess) const {
    if (guess < fields.size() && fields[guess].name == name) return static_cast<int>(guess);
    const auto at = std::lower_bound(
        by_name.begin(), by_name.end(), name,
        [this](uint32_t one, std::string_view it) { return fields[one].name < it; });
    return at != by_name.end() && fields[*at].name == name ? static_cast<int>(*at) : -1;
  }
};

// The dtype of the TensorView for values of `type`, which is not Any or List. For a list it is that
// of the elements.
constexpr DType dtype_of(plan::Type type) {
  switch (type) {
    case plan::Type::Bool: return DType::Bool;
    case plan::Type::Int8: return DType::Int8;
    case plan::Type::Int16: return DType::Int16;
    case plan::Type::Int32: return DType::Int32;
    case plan::Type::Int64:
    case plan::Type::Time: return DType::Int64;
    case plan::Type::Float: return DType::Fp32;
    case plan::Type::Double: return DType::Fp64;
    case plan::Type::Decimal: return DType::Decimal;
    case plan::Type::String: return DType::String;
    case plan::Type::Binary: return DType::Bytes;
    case plan::Type::Date: return DType::Date;
    case plan::Type::Timestamp: return DType::Timestamp;
    case plan::Type::Vector: return DType::Vector;
    case plan::Type::Any:
    case plan::Type::List: break;
  }
  return DType::Invalid;
}

}  // namespace serval
