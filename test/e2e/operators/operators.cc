// Custom operators of the domain "test.ops" on FP32 tensors, as a library for ONNX Runtime. The
// operators are the identity except: Double doubles; for a negative first element, Refuse returns
// an error, Throw throws, Crash ends the process. Macros spoil the library: NO_ENTRY, ENTRY_FAILS,
// ENTRY_THROWS, OPEN_CRASHES, OPEN_EXITS, NEEDS_SYMBOL; FORKS: it starts a process first, which
// keeps all descriptors; FACTOR: that of Double. Test time only.
#include <onnxruntime_c_api.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#ifndef FACTOR
#define FACTOR 2
#endif

namespace {

const OrtApi* api = nullptr;

struct Operator : OrtCustomOp {
  const char* name;
};

OrtStatusPtr compute(const char* name, OrtKernelContext* context) {
  const OrtValue* input = nullptr;
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (OrtStatusPtr failed = api->KernelContext_GetInput(context, 0, &input)) return failed;
  if (OrtStatusPtr failed = api->GetTensorTypeAndShape(input, &info)) return failed;
  size_t rank = 0, count = 0;
  int64_t dims[8] = {};
  OrtStatusPtr failed = api->GetDimensionsCount(info, &rank);
  if (failed == nullptr) failed = api->GetDimensions(info, dims, rank);
  if (failed == nullptr) failed = api->GetTensorShapeElementCount(info, &count);
  api->ReleaseTensorTypeAndShapeInfo(info);
  if (failed != nullptr) return failed;
  OrtValue* output = nullptr;
  void *from = nullptr, *to = nullptr;
  failed = api->KernelContext_GetOutput(context, 0, dims, rank, &output);
  if (failed == nullptr) failed = api->GetTensorMutableData(const_cast<OrtValue*>(input), &from);
  if (failed == nullptr) failed = api->GetTensorMutableData(output, &to);
  if (failed != nullptr) return failed;
  const auto* const x = static_cast<const float*>(from);
  auto* const y = static_cast<float*>(to);
  const bool negative = count > 0 && x[0] < 0;
  if (negative && std::strcmp(name, "Refuse") == 0) {
    return api->CreateStatus(ORT_INVALID_ARGUMENT, "Refuse: expected no negative element");
  }
  if (negative && std::strcmp(name, "Throw") == 0) throw std::runtime_error("Throw: it threw");
  if (negative && std::strcmp(name, "Crash") == 0) std::raise(SIGSEGV);
  const float factor = std::strcmp(name, "Double") == 0 ? FACTOR : 1;
  for (size_t i = 0; i < count; ++i) y[i] = factor * x[i];
  return nullptr;
}

Operator make(const char* name) {
  Operator one{};
  one.name = name;
  one.version = ORT_API_VERSION;
  one.GetName = [](const OrtCustomOp* op) { return static_cast<const Operator*>(op)->name; };
  one.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  one.GetInputTypeCount = one.GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  one.GetInputType = one.GetOutputType = [](const OrtCustomOp*, size_t) {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  };
  one.GetInputCharacteristic = one.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) {
    return INPUT_OUTPUT_REQUIRED;
  };
  one.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
  one.GetVariadicInputMinArity =
      one.GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
  one.GetVariadicInputHomogeneity =
      one.GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
  one.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  one.GetEndVersion = [](const OrtCustomOp*) { return 1; };
  one.CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo*,
                          void** kernel) -> OrtStatusPtr {
    *kernel = const_cast<char*>(static_cast<const Operator*>(op)->name);
    return nullptr;
  };
  one.KernelComputeV2 = [](void* kernel, OrtKernelContext* context) {
    return compute(static_cast<const char*>(kernel), context);
  };
  one.KernelDestroy = [](void*) {};
  return one;
}

Operator operators[] = {make("Double"), make("Refuse"), make("Throw"), make("Crash")};

}  // namespace

#ifdef FORKS
// Before the constructors that end the process.
__attribute__((constructor(101))) static void start_helper() {
  if (fork() != 0) return;
  sleep(300);
  _Exit(0);
}
#endif
#ifdef OPEN_CRASHES
__attribute__((constructor)) static void crash() { std::raise(SIGSEGV); }
#endif
#ifdef OPEN_EXITS
__attribute__((constructor)) static void leave() { _Exit(7); }
#endif
#ifdef NEEDS_SYMBOL
extern "C" void a_function_that_no_library_has();
__attribute__((constructor)) static void need() { a_function_that_no_library_has(); }
#endif

#ifndef NO_ENTRY
extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(
    OrtSessionOptions* options, const OrtApiBase* base) {
  api = base->GetApi(ORT_API_VERSION);
#ifdef ENTRY_FAILS
  return api->CreateStatus(ORT_FAIL, "no licence for these operators");
#endif
#ifdef ENTRY_THROWS
  throw std::runtime_error("thrown by the entry");
#endif
  // It lives as long as the library: sessions refer to it.
  static OrtCustomOpDomain* domain = nullptr;
  if (domain == nullptr) {
    if (OrtStatus* failed = api->CreateCustomOpDomain("test.ops", &domain)) return failed;
    for (const Operator& one : operators) {
      if (OrtStatus* failed = api->CustomOpDomain_Add(domain, &one)) return failed;
    }
  }
  return api->AddCustomOpDomain(options, domain);
}
#endif
