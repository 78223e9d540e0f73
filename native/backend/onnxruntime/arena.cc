// Measures and shrinks the runtime's arena. Source: ONNX Runtime's run option
// memory.enable_memory_arena_shrinkage, which shrinks the arena of the session that runs.
#include "backend/onnxruntime/arena.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backend/onnx/model.h"
#include "backend/onnxruntime/error.h"

namespace serval::ort {
namespace {

// Less stays: a run after a pause would have to allocate it again.
constexpr uint64_t kUnusedMin = 64u << 20;

using PairsHandle = OrtHandle<OrtKeyValuePairs, &OrtApi::ReleaseKeyValuePairs>;

uint64_t number_of(const OrtApi& api, const OrtKeyValuePairs& pairs, const char* key) {
  const char* const text = api.GetKeyValue(&pairs, key);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

std::string scalar_value(std::string_view name) {
  const std::string tensor =
      OnnxWriter()
          .integer(TypeProto::Tensor::kElemType, TensorProto::DataType::kFloat)
          .bytes(TypeProto::Tensor::kShape, std::string_view())
          .take();
  const std::string type = OnnxWriter().bytes(TypeProto::kTensorType, tensor).take();
  return OnnxWriter().bytes(ValueInfoProto::kName, name).bytes(ValueInfoProto::kType, type).take();
}

// y = Identity(x), a scalar.
std::string smallest_model() {
  const std::string node = OnnxWriter()
                               .bytes(NodeProto::kInput, std::string_view("x"))
                               .bytes(NodeProto::kOutput, std::string_view("y"))
                               .bytes(NodeProto::kOpType, std::string_view("Identity"))
                               .take();
  const std::string graph = OnnxWriter()
                                .bytes(GraphProto::kNode, node)
                                .bytes(GraphProto::kName, std::string_view("smallest"))
                                .bytes(GraphProto::kInput, scalar_value("x"))
                                .bytes(GraphProto::kOutput, scalar_value("y"))
                                .take();
  const std::string opset = OnnxWriter().integer(OperatorSetIdProto::kVersion, 17).take();
  return OnnxWriter()
      .integer(ModelProto::kIrVersion, 8)
      .bytes(ModelProto::kOpsetImport, opset)
      .bytes(ModelProto::kGraph, graph)
      .take();
}

OrtStatus* make_session(const OrtRuntime& runtime, OrtSession** session) {
  const OrtApi& api = *runtime.api;
  SessionOptionsHandle options(&api);
  OrtStatus* failed = api.CreateSessionOptions(options.out());
  if (failed == nullptr) failed = api.DisablePerSessionThreads(options.get());
  if (failed == nullptr) {
    failed = api.AddSessionConfigEntry(options.get(), "session.use_env_allocators", "1");
  }
  const std::string model = smallest_model();
  if (failed != nullptr) return failed;
  return api.CreateSessionFromArray(runtime.env, model.data(), model.size(), options.get(),
                                    session);
}

// Any run with this option shrinks the arena after it.
OrtStatus* shrink_by_run(const OrtRuntime& runtime, OrtSession* session) {
  const OrtApi& api = *runtime.api;
  RunOptionsHandle options(&api);
  OrtStatus* failed = api.CreateRunOptions(options.out());
  if (failed == nullptr) {
    failed = api.AddRunConfigEntry(options.get(), "memory.enable_memory_arena_shrinkage", "cpu:0");
  }
  float one = 1;
  ValueHandle input(&api), output(&api);
  if (failed == nullptr) {
    failed = api.CreateTensorWithDataAsOrtValue(runtime.cpu_memory, &one, sizeof one, nullptr, 0,
                                                ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, input.out());
  }
  if (failed != nullptr) return failed;
  const char* const from[] = {"x"};
  const char* const to[] = {"y"};
  const OrtValue* const inputs[] = {input.get()};
  return api.Run(session, options.get(), from, inputs, 1, to, 1, output.out());
}

// A session over the arena, and its allocator: the environment's own calls return another one.
struct Access {
  explicit Access(const OrtApi& api) : session(&api), allocator(&api) {}

  std::mutex mutex;
  SessionHandle session;
  OrtHandle<OrtAllocator, &OrtApi::ReleaseAllocator> allocator;
};

// Made at the first call; never freed, like the runtime. Null if it cannot be made.
Access* access_to(const OrtRuntime& runtime) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::map<const OrtRuntime*, std::unique_ptr<Access>>;
  const std::lock_guard<std::mutex> lock(*mutex);
  std::unique_ptr<Access>& access = (*all)[&runtime];
  if (access != nullptr) return access.get();
  const OrtApi& api = *runtime.api;
  auto made = std::make_unique<Access>(api);
  OrtStatus* failed = make_session(runtime, made->session.out());
  if (failed == nullptr) {
    failed = api.CreateAllocator(made->session.get(), runtime.cpu_memory, made->allocator.out());
  }
  drop_status(api, failed);
  if (failed == nullptr) access = std::move(made);
  return access.get();
}

}  // namespace

uint64_t unused_arena_bytes(const OrtRuntime& runtime) {
  const OrtApi& api = *runtime.api;
  Access* const access = runtime.has_shape_calls ? access_to(runtime) : nullptr;
  if (access == nullptr) return 0;
  PairsHandle stats(&api);
  OrtStatus* failed = api.AllocatorGetStats(access->allocator.get(), stats.out());
  drop_status(api, failed);
  if (failed != nullptr || stats.get() == nullptr) return 0;
  const uint64_t total = number_of(api, *stats.get(), "TotalAllocated");
  const uint64_t used = number_of(api, *stats.get(), "InUse");
  return total > used ? total - used : 0;
}

void release_arena(const OrtRuntime& runtime) {
  if (unused_arena_bytes(runtime) < kUnusedMin) return;
  Access& access = *access_to(runtime);
  const std::lock_guard<std::mutex> lock(access.mutex);
  drop_status(*runtime.api, shrink_by_run(runtime, access.session.get()));
}

}  // namespace serval::ort
