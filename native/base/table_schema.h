// What a tabular model's fields and outputs are, to codecs. Beside the signature, whose inputs and
// outputs are the same ones in the same order. Immutable after load; any thread.
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
  plan::Type type = plan::Type::Any;     // what metadata says and what a value becomes
  plan::Type element = plan::Type::Any;  // of a List
  int32_t size = -1;                     // of a Vector; -1 = free
  bool any = false;                      // taken as the request has it, whatever `type` says
  bool optional = false;                 // left out = all missing
  bool by_default = true;                // a default output needs it; see output_fields
  bool parse_text = false;               // text is read as `type`
  uint8_t precision = 0, scale = 0;      // Decimal
};

struct TableSchema {
  std::vector<FieldSpec> fields;   // as signature.inputs
  std::vector<FieldSpec> outputs;  // as signature.outputs
  std::vector<bool> extra;         // outputs that are answered only where they are asked for
  // By output: the fields that it needs and no default output does (!by_default). A request may
  // leave these out where it does not ask for that output. Empty: there are none.
  std::vector<std::vector<uint32_t>> output_fields;
  bool nan_is_missing = false;  // of Float and Double fields
  bool of_tensors = false;      // no tabular model's: codec/table/tensor_fields.h
  std::string timezone;         // "" = UTC

  std::vector<uint32_t> by_name;  // fields in the order of their names: sort_fields()

  // Once all fields are there: from then on a field is found without looking at the others.
  void sort_fields() {
    by_name.resize(fields.size());
    for (uint32_t i = 0; i < by_name.size(); ++i) by_name[i] = i;
    std::sort(by_name.begin(), by_name.end(),
              [this](uint32_t a, uint32_t b) { return fields[a].name < fields[b].name; });
  }

  // Index of the field, or -1. `guess`: where it is if requests have the model's order.
  int find_field(std::string_view name, size_t guess) const {
    if (guess < fields.size() && fields[guess].name == name) return static_cast<int>(guess);
    const auto at = std::lower_bound(
        by_name.begin(), by_name.end(), name,
        [this](uint32_t one, std::string_view it) { return fields[one].name < it; });
    return at != by_name.end() && fields[*at].name == name ? static_cast<int>(*at) : -1;
  }
};

// The dtype of a value's TensorView where it is of `type`, which is not Any or List. Of a list it
// is that of the elements.
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
