// Registers our operators with the runtime. Making kernels: control plane. Running them: hot path,
// any thread.
#include "backend/onnxruntime/custom_ops.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <vector>

#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/signature.h"
#include "base/buffer.h"
#include "operators/operator.h"

namespace serval::ort {
namespace {

using operators::Kernel;
using operators::KernelAttributes;
using operators::KernelContext;
using operators::Operand;
using operators::OperatorType;

constexpr const char* kDomain = "serval";
// Limit on an output's bytes; a shape may be computed from the input's values.
constexpr uint64_t kOutputBytesMax = uint64_t{1} << 31;

OrtErrorCode status_code(ErrorCode code) {
  if (code == ErrorCode::InvalidArgument) return ORT_INVALID_ARGUMENT;
  return code == ErrorCode::Unimplemented ? ORT_NOT_IMPLEMENTED : ORT_FAIL;
}

OrtStatus* to_status(const OrtApi& api, const Error& error) {
  std::string text(1, kKernelMark);
  for (const char c : error.message) text += c == '\0' ? ' ' : c;
  text += kKernelMark;
  return api.CreateStatus(status_code(error.code), text.c_str());
}

Error backend_failed(std::string message) {
  return make_error(ErrorCode::BackendFailed, std::move(message));
}

Status check(const OrtApi& api, OrtStatus* failed, const char* what) {
  if (failed == nullptr) return ok_status();
  return take_error(api, failed, ErrorCode::BackendFailed, what);
}

class InfoAttributes final : public KernelAttributes {
 public:
  InfoAttributes(const OrtApi& api, const OrtKernelInfo* info) : api_(api), info_(info) {}

  int64_t integer(std::string_view name, int64_t fallback) const override {
    int64_t value = 0;
    const std::string key(name);
    return found(api_.KernelInfoGetAttribute_int64(info_, key.c_str(), &value)) ? value : fallback;
  }
  float real(std::string_view name, float fallback) const override {
    float value = 0;
    const std::string key(name);
    return found(api_.KernelInfoGetAttribute_float(info_, key.c_str(), &value)) ? value : fallback;
  }
  std::string text(std::string_view name, std::string_view fallback) const override {
    const std::string key(name);
    size_t bytes = 0;
    if (!found(api_.KernelInfoGetAttribute_string(info_, key.c_str(), nullptr, &bytes))) {
      return std::string(fallback);
    }
    std::string value(bytes, '\0');
    if (!found(api_.KernelInfoGetAttribute_string(info_, key.c_str(), value.data(), &bytes))) {
      return std::string(fallback);
    }
    value.resize(bytes == 0 ? 0 : bytes - 1);  // without its terminating NUL
    return value;
  }
  std::vector<int64_t> integers(std::string_view name) const override {
    return list<int64_t>(name, api_.KernelInfoGetAttributeArray_int64);
  }
  std::vector<float> reals(std::string_view name) const override {
    return list<float>(name, api_.KernelInfoGetAttributeArray_float);
  }

 private:
  bool found(OrtStatus* failed) const {
    drop_status(api_, failed);
    return failed == nullptr;
  }
  template <typename T>
  std::vector<T> list(std::string_view name,
                      OrtStatus* (*read)(const OrtKernelInfo*, const char*, T*, size_t*)) const {
    const std::string key(name);
    size_t count = 0;
    if (!found(read(info_, key.c_str(), nullptr, &count))) return {};
    std::vector<T> values(count);
    if (count != 0 && !found(read(info_, key.c_str(), values.data(), &count))) return {};
    return values;
  }

  const OrtApi& api_;
  const OrtKernelInfo* const info_;
};

// The operand that the tensor at `index` belongs to; null past the last.
const Operand* operand_at(const std::vector<Operand>& operands, size_t index) {
  if (index < operands.size()) return &operands[index];
  if (operands.empty() || operands.back().form != Operand::Form::Variadic) return nullptr;
  return &operands.back();
}

// The tensors of one run. Strings are copied out of the runtime on demand, with one call per input.
class RunContext final : public KernelContext {
 public:
  // `shape_calls`: the library has the call of 1.24.
  RunContext(const OrtApi& api, const OperatorType& type, bool shape_calls,
             OrtKernelContext* context)
      : api_(api), type_(type), shape_calls_(shape_calls), context_(context) {
    drop_status(api_, api_.KernelContext_GetInputCount(context_, &input_count_));
    drop_status(api_, api_.KernelContext_GetOutputCount(context_, &output_count_));
  }

  size_t input_count() const override { return input_count_; }
  size_t output_count() const override { return output_count_; }

  Result<TensorView> input(size_t index) override {
    TensorView view;
    if (index >= input_count_) return view;
    const OrtValue* value = nullptr;
    Status status = check(api_, api_.KernelContext_GetInput(context_, index, &value), "input");
    if (!status.ok()) return std::move(status.error());
    if (value == nullptr) return view;
    status = describe(*value, view);
    if (!status.ok()) return std::move(status.error());
    const Operand* operand = operand_at(type_.inputs, index);
    if (operand != nullptr && operand->dtype != DType::Invalid && operand->dtype != view.dtype) {
      return backend_failed(type_.name + ": input " + std::to_string(index) + ": expected " +
                            std::string(dtype_name(operand->dtype)) + ", got " +
                            std::string(dtype_name(view.dtype)));
    }
    const uint64_t elements = view.shape.elements().value_or(0);
    if (view.dtype == DType::Bytes) return read_strings(*value, elements, view);
    view.bytes = elements * dtype_bytes(view.dtype);
    void* data = nullptr;
    if (view.bytes != 0) {
      status = check(api_, api_.GetTensorMutableData(const_cast<OrtValue*>(value), &data), "input");
      if (!status.ok()) return std::move(status.error());
    }
    view.data = static_cast<const uint8_t*>(data);
    return view;
  }

  Result<std::span<uint8_t>> output(size_t index, DType dtype, const Shape& shape) override {
    Result<OrtValue*> value = make_output(index, dtype, shape);
    if (!value.ok()) return std::move(value.error());
    const size_t bytes = shape.elements().value_or(0) * dtype_bytes(dtype);
    if (bytes == 0) return std::span<uint8_t>();
    void* data = nullptr;
    if (value.value() == nullptr) {  // the graph does not use this output
      ByteBuffer memory;
      data = memory.grow(bytes);
      if (data == nullptr) return backend_failed("no memory for an output");
      unused_.push_back(std::move(memory));
    } else {
      Status status = check(api_, api_.GetTensorMutableData(value.value(), &data), "output");
      if (!status.ok()) return std::move(status.error());
    }
    return std::span<uint8_t>(static_cast<uint8_t*>(data), bytes);
  }

  Status output_strings(size_t index, const Shape& shape,
                        std::span<const std::string_view> values) override {
    Result<OrtValue*> value = make_output(index, DType::Bytes, shape);
    if (!value.ok()) return std::move(value.error());
    if (values.size() != shape.elements().value_or(0)) {
      return backend_failed(type_.name + ": output " + std::to_string(index) + ": " +
                            std::to_string(values.size()) + " strings for shape " +
                            shape.to_string());
    }
    if (value.value() == nullptr) return ok_status();
    for (size_t i = 0; i < values.size(); ++i) {
      char* place = nullptr;
      OrtStatus* failed =
          api_.GetResizedStringTensorElementBuffer(value.value(), i, values[i].size(), &place);
      if (failed != nullptr) return check(api_, failed, "output");
      if (!values[i].empty()) std::memcpy(place, values[i].data(), values[i].size());
    }
    return ok_status();
  }

  Status parallel(size_t tasks, const std::function<void(size_t)>& work) override {
    if (tasks <= 1) return KernelContext::parallel(tasks, work);
    struct Shared {
      const std::function<void(size_t)>& work;
      std::atomic<bool> failed{false};
    } shared{work};
    const auto task = [](void* data, size_t index) {
      Shared& all = *static_cast<Shared*>(data);
      try {
        all.work(index);
      } catch (...) {  // exceptions must not reach the runtime's threads
        all.failed.store(true, std::memory_order_relaxed);
      }
    };
    OrtStatus* failed = api_.KernelContext_ParallelFor(context_, task, tasks, 0, &shared);
    if (failed != nullptr) return take_error(api_, failed, ErrorCode::BackendFailed, "threads");
    if (shared.failed.load()) return backend_failed(type_.name + ": no memory for its work");
    return ok_status();
  }

 private:
  struct Strings {
    std::string bytes;
    std::vector<size_t> offsets;
    std::vector<std::string_view> views;
  };

  Status describe(const OrtValue& value, TensorView& view) const {
    ShapeInfoHandle info(&api_);
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t rank = 0;
    int64_t copied[kRankMax];
    const int64_t* dims = copied;
    OrtStatus* failed = nullptr;
    if (shape_calls_) {
      failed = api_.GetTensorElementTypeAndShapeDataReference(&value, &type, &dims, &rank);
    } else {
      failed = api_.GetTensorTypeAndShape(&value, info.out());
      if (failed == nullptr) failed = api_.GetTensorElementType(info.get(), &type);
      if (failed == nullptr) failed = api_.GetDimensionsCount(info.get(), &rank);
    }
    if (failed != nullptr) return check(api_, failed, "input");
    if (rank > kRankMax) return backend_failed("input of rank " + std::to_string(rank));
    if (!shape_calls_) failed = api_.GetDimensions(info.get(), copied, rank);
    view.dtype = dtype_of(type);
    view.shape = Shape({dims, rank});
    return check(api_, failed, "input");
  }

  Result<TensorView> read_strings(const OrtValue& value, size_t count, TensorView& view) {
    strings_.push_back(std::make_unique<Strings>());
    Strings& strings = *strings_.back();
    if (count == 0) return view;
    size_t total = 0;
    OrtStatus* failed = api_.GetStringTensorDataLength(&value, &total);
    if (failed == nullptr) {
      strings.bytes.resize(total);
      strings.offsets.resize(count + 1);
      failed = api_.GetStringTensorContent(&value, strings.bytes.data(), total,
                                           strings.offsets.data(), count);
    }
    if (failed != nullptr) return take_error(api_, failed, ErrorCode::BackendFailed, "strings");
    strings.offsets[count] = total;
    strings.views.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      strings.views.emplace_back(strings.bytes.data() + strings.offsets[i],
                                 strings.offsets[i + 1] - strings.offsets[i]);
    }
    view.strings = strings.views;
    return view;
  }

  // The runtime's value of an output; null if the graph omits the output.
  Result<OrtValue*> make_output(size_t index, DType dtype, const Shape& shape) {
    const std::optional<uint64_t> elements = shape.elements();
    const size_t bytes_each = dtype == DType::Bytes ? sizeof(std::string) : dtype_bytes(dtype);
    if (!elements || *elements > kOutputBytesMax / bytes_each) {
      return invalid_argument(type_.name + ": output " + std::to_string(index) + " of shape " +
                              shape.to_string() + " is over the limit of " +
                              std::to_string(kOutputBytesMax) + " bytes");
    }
    OrtValue* value = nullptr;
    if (index >= output_count_) return value;
    OrtStatus* failed =
        api_.KernelContext_GetOutput(context_, index, shape.dims().data(), shape.rank(), &value);
    if (failed != nullptr) return take_error(api_, failed, ErrorCode::BackendFailed, "output");
    if (value == nullptr) return value;
    // The type is the graph's; a wrong one would make us write past the end of the memory.
    TensorView made;
    Status status = describe(*value, made);
    if (!status.ok()) return std::move(status.error());
    if (made.dtype == dtype) return value;
    return backend_failed(type_.name + ": output " + std::to_string(index) + " is " +
                          std::string(dtype_name(dtype)) + ", declared as " +
                          std::string(dtype_name(made.dtype)) + " by the graph");
  }

  const OrtApi& api_;
  const OperatorType& type_;
  const bool shape_calls_;
  OrtKernelContext* const context_;
  size_t input_count_ = 0, output_count_ = 0;
  std::vector<std::unique_ptr<Strings>> strings_;
  std::vector<ByteBuffer> unused_;
};

// A custom operator in the runtime's form: `abi` is the first member, so its address is the
// object's.
struct CustomOp {
  OrtCustomOp abi = {};
  OperatorType type;
  const OrtApi* api = nullptr;
  bool shape_calls = false;  // see RunContext
};

struct NodeKernel {
  const CustomOp* op = nullptr;
  std::unique_ptr<Kernel> kernel;
};

const CustomOp& of(const OrtCustomOp* op) { return *reinterpret_cast<const CustomOp*>(op); }

// Returns what `work` returns; catches every exception (out of memory).
template <typename Work>
OrtStatus* catch_exceptions(const OrtApi& api, const OperatorType& type, Work work) {
  try {
    Status status = work();
    return status.ok() ? nullptr : to_status(api, status.error());
  } catch (const std::exception& problem) {
    return api.CreateStatus(ORT_FAIL, (type.name + ": " + problem.what()).c_str());
  } catch (...) {
    return api.CreateStatus(ORT_FAIL, "a custom operator failed");
  }
}

// Checks the number and types of one side of a node against its operator's operands.
Status check_side(const OrtApi& api, const OrtKernelInfo* info, const OperatorType& type,
                  bool inputs) {
  const std::vector<Operand>& operands = inputs ? type.inputs : type.outputs;
  const std::string word = inputs ? "input" : "output";
  const auto count_of = inputs ? api.KernelInfo_GetInputCount : api.KernelInfo_GetOutputCount;
  const auto type_of = inputs ? api.KernelInfo_GetInputTypeInfo : api.KernelInfo_GetOutputTypeInfo;
  const auto invalid = [&type](std::string text) {
    return make_error(ErrorCode::ModelInvalid, type.name + ": " + std::move(text));
  };
  size_t count = 0;
  drop_status(api, count_of(info, &count));
  for (size_t i = count; inputs && i < operands.size(); ++i) {
    if (operands[i].form != Operand::Form::Required) continue;
    return invalid("expected " + std::to_string(operands.size()) + " " + word + "s, got " +
                   std::to_string(count));
  }
  for (size_t i = 0; i < count; ++i) {
    const Operand* operand = operand_at(operands, i);
    if (operand == nullptr) {
      return invalid("expected at most " + std::to_string(operands.size()) + " " + word +
                     "s, got " + std::to_string(count));
    }
    TypeInfoHandle type_info(&api);
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    OrtStatus* failed = type_of(info, i, type_info.out());
    if (failed == nullptr) failed = api.CastTypeInfoToTensorInfo(type_info.get(), &tensor);
    if (failed == nullptr && tensor != nullptr) failed = api.GetTensorElementType(tensor, &element);
    drop_status(api, failed);
    const DType got = dtype_of(element);
    if (got == DType::Invalid || operand->dtype == DType::Invalid || got == operand->dtype)
      continue;
    return invalid(word + " " + std::to_string(i) + ": expected " +
                   std::string(dtype_name(operand->dtype)) + ", got " +
                   std::string(dtype_name(got)));
  }
  return ok_status();
}

OrtStatus* create_kernel(const OrtCustomOp* abi, const OrtApi*, const OrtKernelInfo* info,
                         void** kernel) {
  const CustomOp& op = of(abi);
  const OrtApi& api = *op.api;
  return catch_exceptions(api, op.type, [&]() -> Status {
    Status status = check_side(api, info, op.type, true);
    if (status.ok()) status = check_side(api, info, op.type, false);
    if (!status.ok()) return status;
    const InfoAttributes attributes(api, info);
    Result<std::unique_ptr<Kernel>> made = op.type.make(attributes);
    if (!made.ok()) return std::move(made.error());
    *kernel = std::make_unique<NodeKernel>(NodeKernel{&op, std::move(made.value())}).release();
    return ok_status();
  });
}

void destroy_kernel(void* kernel) { std::unique_ptr<NodeKernel>(static_cast<NodeKernel*>(kernel)); }

OrtStatus* run_kernel(void* kernel, OrtKernelContext* context) {
  const NodeKernel& node = *static_cast<const NodeKernel*>(kernel);
  const OrtApi& api = *node.op->api;
  return catch_exceptions(api, node.op->type, [&]() -> Status {
    RunContext run(api, node.op->type, node.op->shape_calls, context);
    return node.kernel->run(run);
  });
}

// The first version of OrtCustomOp with aliases, which the runtime queries without the operator.
constexpr uint32_t kAliasVersion = 18;

template <size_t kInputs>
size_t last_input_alias(int** input, int** output) {
  static int last = static_cast<int>(kInputs) - 1, first = 0;
  *input = &last;
  *output = &first;
  return 1;
}

// The output shares the last input's memory: always, or if nothing else reads the input.
void alias_last_input(OrtCustomOp& abi, size_t inputs, bool always) {
  static constexpr size_t (*kAliases[])(int**, int**) = {
      last_input_alias<1>,
      last_input_alias<2>,
      last_input_alias<3>,
      last_input_alias<4>,
  };
  if (inputs == 0 || inputs > std::size(kAliases)) return;
  abi.version = kAliasVersion;
  if (always) {
    abi.GetAliasMap = kAliases[inputs - 1];
    abi.ReleaseAliasMap = [](int*, int*) {};
  } else {
    abi.GetMayInplace = kAliases[inputs - 1];
    abi.ReleaseMayInplace = [](int*, int*) {};
  }
}

// Declares an operator whose output type the runtime infers. Source: ONNX Runtime's custom_ops.cc,
// which requires one free input for a required output, none for an optional one.
void type_by_last_input(OrtCustomOp& abi) {
  abi.GetInputTypeCount = [](const OrtCustomOp* op) { return of(op).type.inputs.size(); };
  abi.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
  abi.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_OPTIONAL; };
}

OrtCustomOp abi_table() {
  OrtCustomOp abi = {};
  abi.version = kOrtApiVersion;
  abi.GetName = [](const OrtCustomOp* op) { return of(op).type.name.c_str(); };
  abi.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  abi.GetInputType = [](const OrtCustomOp*, size_t) {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  };
  abi.GetOutputType = abi.GetInputType;
  abi.GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  abi.GetOutputTypeCount = abi.GetInputTypeCount;
  abi.GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_VARIADIC; };
  abi.GetOutputCharacteristic = abi.GetInputCharacteristic;
  abi.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  abi.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 0; };
  abi.GetVariadicOutputMinArity = abi.GetVariadicInputMinArity;
  abi.GetVariadicInputHomogeneity = abi.GetVariadicInputMinArity;  // 0: types may differ
  abi.GetVariadicOutputHomogeneity = abi.GetVariadicInputMinArity;
  abi.CreateKernelV2 = create_kernel;
  abi.KernelComputeV2 = run_kernel;
  abi.KernelDestroy = destroy_kernel;
  abi.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  abi.GetEndVersion = abi.GetStartVersion;
  return abi;
}

struct Domain {
  std::vector<std::unique_ptr<CustomOp>> operators;
  OrtCustomOpDomain* domain = nullptr;
  std::string problem;
};

// Never freed: sessions point to it.
const Domain& make_domain(const OrtApi& api, bool has_shape_calls) {
  static const Domain& made = *[&api, has_shape_calls] {
    auto domain = std::make_unique<Domain>();
    OrtStatus* failed = api.CreateCustomOpDomain(kDomain, &domain->domain);
    for (OperatorType& type : operators::all_operators()) {
      auto op = std::make_unique<CustomOp>();
      op->abi = abi_table();
      op->type = std::move(type);
      op->api = &api;
      op->shape_calls = has_shape_calls;
      const auto form = op->type.output_type;
      if (form != OperatorType::OutputType::OfTheGraph) type_by_last_input(op->abi);
      const bool passes = form == OperatorType::OutputType::PassesLastInput;
      if ((passes || form == OperatorType::OutputType::ChangesLastInput) && has_shape_calls) {
        alias_last_input(op->abi, op->type.inputs.size(), passes);
      }
      if (failed == nullptr) failed = api.CustomOpDomain_Add(domain->domain, &op->abi);
      domain->operators.push_back(std::move(op));
    }
    if (failed != nullptr) {
      domain->problem = take_error(api, failed, ErrorCode::RuntimeUnavailable, kDomain).message;
    }
    return domain.release();
  }();
  return made;
}

std::mutex first_session_mutex;
std::atomic<bool> session_was_made{false};

}  // namespace

SessionTurn::SessionTurn(bool needed) {
  if (needed && !session_was_made.load(std::memory_order_acquire)) {
    turn_ = std::unique_lock(first_session_mutex);
  }
}

void SessionTurn::made() {
  if (turn_.owns_lock()) session_was_made.store(true, std::memory_order_release);
}

Status add_custom_ops(const OrtRuntime& runtime, OrtSessionOptions* options) {
  const OrtApi& api = *runtime.api;
  const Domain& domain = make_domain(api, runtime.has_shape_calls);
  if (!domain.problem.empty()) {
    return make_error(ErrorCode::RuntimeUnavailable, "custom operators: " + domain.problem);
  }
  if (domain.operators.empty()) return ok_status();
  OrtStatus* failed = api.AddCustomOpDomain(options, domain.domain);
  if (failed == nullptr) return ok_status();
  return take_error(api, failed, ErrorCode::RuntimeUnavailable, "custom operators");
}

}  // namespace serval::ort
