// Describes inputs and outputs. Control plane, any thread.
#include "capi/describe.h"

#include "codec/json/echo.h"

namespace serval::capi {

namespace {

TensorInfo info_of(const TensorSpec& spec) {
  TensorInfo info;
  info.name = spec.name;
  info.dtype = spec.dtype;
  info.any_rank = spec.unknown_rank;
  if (!info.any_rank) info.dims = spec.dims;
  info.optional = spec.may_be_absent;
  return info;
}

// A column: the datatype of its elements in a serval_tensor.
TensorInfo info_of(const TensorSpec& spec, const FieldSpec& field, bool optional) {
  TensorInfo info = info_of(spec);
  info.optional = optional;
  if (info.dims.size() == 3) info.dims.erase(info.dims.begin() + 1);  // [-1,1,-1] on the wire
  if (field.any) info.dtype = DType::Invalid;
  else if (field.type == plan::Type::Time) info.dtype = DType::String;
  else if (info.dtype == DType::Vector || info.dtype == DType::Decimal) info.dtype = DType::Fp64;
  return info;
}

}  // namespace

std::vector<SignatureInfo> describe(const std::vector<Signature>& signatures,
                                    const TableSchema* table) {
  std::vector<SignatureInfo> infos;
  for (const Signature& signature : signatures) {
    SignatureInfo& info = infos.emplace_back();
    info.name = signature.name;
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      const TensorSpec& spec = signature.inputs[i];
      if (table == nullptr) {
        info.inputs.push_back(info_of(spec));
      } else {
        const FieldSpec& field = table->fields[i];
        info.inputs.push_back(info_of(spec, field, field.optional || !field.by_default));
      }
    }
    for (size_t i = 0; i < signature.outputs.size(); ++i) {
      const TensorSpec& spec = signature.outputs[i];
      if (table == nullptr) {
        info.outputs.push_back(info_of(spec));
        info.outputs.back().optional = false;
      } else {
        const bool extra = i < table->extra.size() && table->extra[i];
        info.outputs.push_back(info_of(spec, table->outputs[i], extra));
      }
    }
  }
  return infos;
}

std::string names_text(const std::vector<TensorSpec>& specs) {
  std::string names;
  for (const TensorSpec& spec : specs) {
    if (names.size() > kErrorValueBytesMax) return names + ", ...";
    names += (names.empty() ? "'" : ", '") + echo_text(spec.name) + "'";
  }
  return names;
}

}  // namespace serval::capi
