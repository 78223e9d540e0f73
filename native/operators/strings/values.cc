// Reads inputs and writes outputs of string kernels (values.h). Hot path.
#include "operators/strings/values.h"

#include <algorithm>

#include "operators/kernel_io.h"

namespace serval::operators {

namespace {

Error wrong_dtype(size_t index, std::string_view expected, DType got) {
  return make_error(ErrorCode::BackendFailed, "input " + std::to_string(index) + ": expected " +
                                                  std::string(expected) + ", got " +
                                                  std::string(dtype_name(got)));
}

}  // namespace

Result<TensorView> string_input(KernelContext& context, size_t index) {
  Result<TensorView> view = context.input(index);
  if (view.ok() && view.value().dtype != DType::Bytes) {
    return wrong_dtype(index, "BYTES", view.value().dtype);
  }
  return view;
}

Result<TensorView> integer_input(KernelContext& context, size_t index) {
  Result<TensorView> view = context.input(index);
  if (!view.ok()) return view;
  const DType dtype = view.value().dtype;
  if (dtype != DType::Int32 && dtype != DType::Int64) {
    return wrong_dtype(index, "INT32 or INT64", dtype);
  }
  return view;
}

Result<std::string_view> scalar_string(KernelContext& context, size_t index,
                                       std::string_view what) {
  Result<TensorView> view = string_input(context, index);
  if (!view.ok()) return std::move(view.error());
  if (!is_scalar(view.value())) {
    return invalid_argument(std::string(what) + view.value().shape.to_string());
  }
  return view.value().strings[0];
}

Result<DType> dtype_attribute(const KernelAttributes& attributes, std::string_view name,
                              std::span<const DType> allowed) {
  const int64_t number = attributes.integer(name, 0);
  const DType dtype = dtype_from_onnx(number);
  if (std::find(allowed.begin(), allowed.end(), dtype) != allowed.end()) return dtype;
  std::string expected;
  for (DType one : allowed) {
    expected += (expected.empty() ? "" : ", ") + std::string(dtype_name(one));
  }
  return invalid_attribute("attribute '" + std::string(name) + "': expected the number of " +
                           expected + ", got " + std::to_string(number));
}

Status write_integers(KernelContext& context, size_t index, DType dtype,
                      std::span<const int64_t> values) {
  Shape shape;
  (void)shape.push_back(static_cast<int64_t>(values.size()));
  Result<std::span<uint8_t>> memory = context.output(index, dtype, shape);
  if (!memory.ok()) return std::move(memory.error());
  uint8_t* to = memory.value().data();
  if (dtype == DType::Int64) {
    if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
    return ok_status();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto narrow = static_cast<int32_t>(values[i]);
    std::memcpy(to + i * sizeof(narrow), &narrow, sizeof(narrow));
  }
  return ok_status();
}

Status StringsOut::write(KernelContext& context, size_t index, const Shape& shape) const {
  if (over_) {
    return invalid_argument("output " + std::to_string(index) + " would take more than " +
                            std::to_string(kStringOutputBytesMax) + " bytes of strings");
  }
  std::vector<std::string_view> views;
  views.reserve(ends_.size());
  const std::string_view bytes = bytes_;
  size_t begin = 0;
  for (size_t end : ends_) {
    views.push_back(bytes.substr(begin, end - begin));
    begin = end;
  }
  return context.output_strings(index, shape, views);
}

Status StringMap::run(KernelContext& context) const {
  const Result<TensorView> input = string_input(context, 0);
  if (!input.ok()) return input.error();
  StringsOut out;
  for (std::string_view element : input.value().strings) {
    Status status = map(element, out);
    if (!status.ok()) return status;
    out.end();
  }
  return out.write(context, 0, input.value().shape);
}

}  // namespace serval::operators
