// Reads columns of Example parses and formats their errors. Control plane except for the texts.
#include "operators/features/example_columns.h"

#include "base/limits.h"

namespace serval::operators {
namespace {

constexpr size_t kColumnsMax = 100'000;
constexpr int64_t kRowElementsMax = int64_t{1} << 31;

using Form = FeatureColumn::Form;

Result<std::vector<DType>> read_types(const KernelAttributes& attributes, const std::string& name,
                                      size_t count, bool splits) {
  std::vector<DType> types;
  for (const int64_t type : attributes.integers(name)) types.push_back(dtype_from_onnx(type));
  if (types.size() != count) {
    return model_invalid("attribute '" + name + "': expected " + std::to_string(count) +
                         " types, got " + std::to_string(types.size()));
  }
  for (const DType type : types) {
    const bool known = splits ? type == DType::Int32 || type == DType::Int64
                              : type == DType::Fp32 || type == DType::Int64 || type == DType::Bytes;
    if (!known) {
      return model_invalid("attribute '" + name +
                           "': a type that features do not have: " + std::string(dtype_name(type)));
    }
  }
  return types;
}

// Removes one dense column's rank and dims from `shapes`.
Status read_dims(std::span<const int64_t>& shapes, FeatureColumn& column) {
  const auto bad = [&column] {
    return model_invalid("attribute 'dense_shapes': wrong for key '" + column.key + "'");
  };
  if (shapes.empty() || shapes[0] < 0 || static_cast<size_t>(shapes[0]) > shapes.size() - 1 ||
      shapes[0] >= static_cast<int64_t>(kRankMax)) {
    return bad();
  }
  const std::span<const int64_t> dims = shapes.subspan(1, static_cast<size_t>(shapes[0]));
  shapes = shapes.subspan(dims.size() + 1);
  column.dims.assign(dims.begin(), dims.end());
  column.variable = !dims.empty() && dims[0] == -1;
  for (size_t i = column.variable ? 1 : 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || __builtin_mul_overflow(column.row_elements, dims[i], &column.row_elements) ||
        column.row_elements > kRowElementsMax) {
      return bad();
    }
  }
  if (column.variable && column.row_elements == 0) return bad();
  return ok_status();
}

Status read_form(const KernelAttributes& attributes, const std::string& prefix, Form form,
                 std::vector<FeatureColumn>& columns) {
  const std::string word = prefix + (form == Form::Sparse   ? "sparse"
                                     : form == Form::Ragged ? "ragged"
                                                            : "dense");
  Result<std::vector<std::string>> keys = attributes.texts(word + "_keys");
  if (!keys.ok()) return std::move(keys.error());
  const size_t count = keys.value().size();
  if (count > kColumnsMax) return model_invalid("attribute '" + word + "_keys': too many");
  Result<std::vector<DType>> types = read_types(attributes, word + "_types", count, false);
  if (!types.ok()) return std::move(types.error());
  std::vector<DType> splits;
  if (form == Form::Ragged) {
    Result<std::vector<DType>> read =
        read_types(attributes, prefix + "ragged_split_types", count, true);
    if (!read.ok()) return std::move(read.error());
    splits = std::move(read.value());
  }
  const std::vector<int64_t> shapes =
      form == Form::Dense ? attributes.integers(prefix + "dense_shapes") : std::vector<int64_t>();
  std::span<const int64_t> rest = shapes;
  for (size_t i = 0; i < count; ++i) {
    FeatureColumn column;
    column.key = std::move(keys.value()[i]);
    column.form = form;
    column.dtype = types.value()[i];
    if (form == Form::Ragged) column.splits = splits[i];
    if (form == Form::Dense) {
      if (Status status = read_dims(rest, column); !status.ok()) return status;
    }
    columns.push_back(std::move(column));
  }
  return ok_status();
}

}  // namespace

Result<std::vector<FeatureColumn>> read_columns(const KernelAttributes& attributes,
                                                const std::string& prefix) {
  std::vector<FeatureColumn> columns;
  for (const Form form : {Form::Sparse, Form::Dense, Form::Ragged}) {
    if (Status status = read_form(attributes, prefix, form, columns); !status.ok()) {
      return std::move(status.error());
    }
  }
  return columns;
}

std::string partial_shape_text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) text += ',';
    text += dims[i] < 0 ? "?" : std::to_string(dims[i]);
  }
  return text + "]";
}

std::string shown(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes.substr(0, kErrorValueBytesMax)) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (byte == '\n' || (byte >= 0x20 && byte < 0x7f)) {
      text += c;
      continue;
    }
    text += "\\x";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  if (bytes.size() > kErrorValueBytesMax) text += "...";
  return text;
}

}  // namespace serval::operators
