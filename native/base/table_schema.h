// What a tabular model's fields and outputs are, to codecs. Beside the signature, whose inputs and
// outputs are the same ones in the same order. Immutable after load; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/generated/plan_names.h"

namespace serval {

struct FieldSpec {
  std::string name;
  plan::Type type = plan::Type::Any;     // what metadata says and what a value becomes
  plan::Type element = plan::Type::Any;  // of a List
  int32_t size = -1;                     // of a Vector; -1 = free
  bool any = false;                      // taken as the request has it, whatever `type` says
  bool optional = false;                 // left out = all missing
  bool parse_text = false;               // text is read as `type`
  uint8_t precision = 0, scale = 0;      // Decimal
};

struct TableSchema {
  std::vector<FieldSpec> fields;   // as signature.inputs
  std::vector<FieldSpec> outputs;  // as signature.outputs
  std::vector<bool> extra;         // outputs that are answered only where they are asked for
  bool nan_is_missing = false;     // of Float and Double fields
  std::string timezone;            // "" = UTC
};

}  // namespace serval
