// ONNX Runtime alone on a GPU, through its C ABI, with an I/O binding: the reference for a server.
//
// gpu_direct MODEL.onnx --library PATH --batch N --threads N --inputs FILE --answer FILE [--device
// N]
//
// INPUTS holds the bytes of all inputs, in the model's order; free dimensions of the model equal
// the batch. There is one session; each thread has its own binding, stream, and memory on host and
// device. A run does the minimum of a remote request: it copies pinned host memory to the device,
// runs the session on its binding, and copies outputs back to pinned memory. Before the first line
// is printed, ANSWER contains the bytes of the first run's outputs. Prints {"event":"ready"}; then
// one line for each line of stdin with a number of seconds, for which all threads run as fast as
// they can. Runs that have begun by the end of that time are completed and counted.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/gpu_libraries.h"
#include "backend/onnxruntime/library.h"
#include "base/clock.h"
#include "gpu/cuda.h"

namespace {

using namespace serval;       // NOLINT: a separate program
using namespace serval::ort;  // NOLINT

constexpr unsigned kBesideOthers = 1;  // cudaStreamNonBlocking

struct Options {
  std::string model, library, inputs, answer;
  int64_t batch = 1;
  int threads = 1;
  int device = 0;
};

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "gpu_direct: %s\n", text.c_str());
  std::_Exit(1);  // threads may be in the middle of a run
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (!name.starts_with("--")) {
      options.model = name;
      continue;
    }
    if (i + 1 == count) fail(std::string(name) + " needs a value");
    const char* value = arguments[++i];
    if (name == "--library") options.library = value;
    else if (name == "--inputs") options.inputs = value;
    else if (name == "--answer") options.answer = value;
    else if (name == "--batch") options.batch = std::atoll(value);
    else if (name == "--threads") options.threads = std::atoi(value);
    else if (name == "--device") options.device = std::atoi(value);
    else fail("unknown option " + std::string(name));
  }
  if (options.model.empty() || options.inputs.empty() || options.answer.empty()) {
    fail("expected MODEL.onnx, --inputs and --answer");
  }
  if (options.batch < 1 || options.threads < 1) fail("batch and threads must be positive");
  return options;
}

// One tensor of the model, at this batch size.
struct Port {
  std::string name;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> dims;
  size_t bytes = 0;
};

size_t element_bytes(ONNXTensorElementDataType type, const std::string& name) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16: return 2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32: return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64: return 8;
    default: fail(name + ": element type " + std::to_string(type) + " is not measured");
  }
}

// The session, and the resources that its lanes share.
struct Direct {
  const OrtRuntime& runtime;
  const OrtApi& api;
  const gpu::CudaCalls& cuda;
  const Options& options;
  OrtSession* session = nullptr;
  OrtMemoryInfo* memory = nullptr;  // the device's memory
  std::vector<Port> inputs, outputs;

  void check(OrtStatus* status) const {
    if (status != nullptr) fail(api.GetErrorMessage(status));
  }
  void check_cuda(gpu::CudaStatus status, const char* what) const {
    if (status != 0) fail(cuda_error(cuda, status, what).message);
  }
};

void read_shape(const Direct& direct, const OrtTensorTypeAndShapeInfo* info, Port& port) {
  const OrtApi& api = direct.api;
  size_t rank = 0;
  direct.check(api.GetTensorElementType(info, &port.type));
  direct.check(api.GetDimensionsCount(info, &rank));
  port.dims.resize(rank);
  direct.check(api.GetDimensions(info, port.dims.data(), rank));
  port.bytes = element_bytes(port.type, port.name);
  for (int64_t& dim : port.dims) {
    if (dim < 0) dim = direct.options.batch;
    port.bytes *= static_cast<size_t>(dim);
  }
}

void read_inputs(Direct& direct) {
  const OrtApi& api = direct.api;
  size_t count = 0;
  direct.check(api.SessionGetInputCount(direct.session, &count));
  for (size_t i = 0; i < count; ++i) {
    Port& port = direct.inputs.emplace_back();
    char* name = nullptr;
    direct.check(api.SessionGetInputName(direct.session, i, direct.runtime.allocator, &name));
    port.name = name;
    direct.check(api.AllocatorFree(direct.runtime.allocator, name));
    TypeInfoHandle type(&api);
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    direct.check(api.SessionGetInputTypeInfo(direct.session, i, type.out()));
    direct.check(api.CastTypeInfoToTensorInfo(type.get(), &info));
    if (info == nullptr) fail("input " + port.name + " is not a tensor");
    read_shape(direct, info, port);
  }
}

void open_session(Direct& direct) {
  const OrtApi& api = direct.api;
  OrtSessionOptions* options = nullptr;
  OrtCUDAProviderOptionsV2* cuda = nullptr;
  const std::string device = std::to_string(direct.options.device);
  const char* const keys[] = {"device_id"};
  const char* const values[] = {device.c_str()};
  direct.check(api.CreateSessionOptions(&options));
  direct.check(api.DisablePerSessionThreads(options));
  direct.check(api.CreateCUDAProviderOptions(&cuda));
  direct.check(api.UpdateCUDAProviderOptions(cuda, keys, values, 1));
  direct.check(api.SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda));
  direct.check(api.CreateSession(direct.runtime.env, direct.options.model.c_str(), options,
                                 &direct.session));
  api.ReleaseCUDAProviderOptions(cuda);
  api.ReleaseSessionOptions(options);
  direct.check(api.CreateMemoryInfo("Cuda", OrtDeviceAllocator, direct.options.device,
                                    OrtMemTypeDefault, &direct.memory));
}

// A tensor's memory on host and device; never freed, because the process ends with it.
struct Block {
  uint8_t* host = nullptr;
  void* device = nullptr;
  size_t bytes = 0;
  OrtValue* value = nullptr;
};

Block make_block(const Direct& direct, const Port& port) {
  Block block;
  void* host = nullptr;
  block.bytes = port.bytes;
  direct.check_cuda(direct.cuda.host_alloc(&host, port.bytes, 0), "pinned memory");
  direct.check_cuda(direct.cuda.allocate(&block.device, port.bytes), "memory of the device");
  block.host = static_cast<uint8_t*>(host);
  direct.check(direct.api.CreateTensorWithDataAsOrtValue(direct.memory, block.device, block.bytes,
                                                         port.dims.data(), port.dims.size(),
                                                         port.type, &block.value));
  return block;
}

// The resources of one thread's runs.
class Lane {
 public:
  Lane(const Direct& direct, const std::string& inputs) : direct_(direct) {
    direct.check_cuda(direct.cuda.set_device(direct.options.device), "the device");
    direct.check_cuda(direct.cuda.create_stream(&stream_, kBesideOthers), "a stream");
    direct.check(direct.api.CreateIoBinding(direct.session, &binding_));
    size_t at = 0;
    for (const Port& port : direct.inputs) {
      const Block& block = inputs_.emplace_back(make_block(direct, port));
      if (inputs.size() - at < port.bytes) fail("--inputs is too short for " + port.name);
      std::memcpy(block.host, inputs.data() + at, port.bytes);
      at += port.bytes;
      direct.check(direct.api.BindInput(binding_, port.name.c_str(), block.value));
    }
    if (at != inputs.size()) fail("--inputs is too long");
  }

  // Runs once with outputs that the runtime allocates, to learn their shapes.
  std::vector<Port> probe() {
    const OrtApi& api = direct_.api;
    size_t count = 0;
    direct_.check(api.SessionGetOutputCount(direct_.session, &count));
    std::vector<Port> ports(count);
    for (size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      direct_.check(api.SessionGetOutputName(direct_.session, i, direct_.runtime.allocator, &name));
      ports[i].name = name;
      direct_.check(api.AllocatorFree(direct_.runtime.allocator, name));
      direct_.check(api.BindOutputToDevice(binding_, ports[i].name.c_str(), direct_.memory));
    }
    send();
    direct_.check(api.RunWithBinding(direct_.session, nullptr, binding_));
    OrtValue** values = nullptr;
    direct_.check(api.GetBoundOutputValues(binding_, direct_.runtime.allocator, &values, &count));
    for (size_t i = 0; i < count; ++i) {
      ShapeInfoHandle info(&api);
      direct_.check(api.GetTensorTypeAndShape(values[i], info.out()));
      read_shape(direct_, info.get(), ports[i]);
      api.ReleaseValue(values[i]);
    }
    direct_.check(api.AllocatorFree(direct_.runtime.allocator, values));
    api.ClearBoundOutputs(binding_);
    return ports;
  }

  void bind_outputs(const std::vector<Port>& ports) {
    for (const Port& port : ports) {
      const Block& block = outputs_.emplace_back(make_block(direct_, port));
      direct_.check(direct_.api.BindOutput(binding_, port.name.c_str(), block.value));
    }
  }

  void run() {
    send();
    direct_.check(direct_.api.RunWithBinding(direct_.session, nullptr, binding_));
    for (const Block& block : outputs_) {
      copy(block.host, block.device, block.bytes, gpu::CudaCopy::ToHost);
    }
    wait();
  }

  const std::vector<Block>& outputs() const { return outputs_; }

 private:
  void copy(void* to, const void* from, size_t bytes, gpu::CudaCopy kind) {
    direct_.check_cuda(direct_.cuda.copy_async(to, from, bytes, static_cast<int>(kind), stream_),
                       "a copy");
  }
  void wait() { direct_.check_cuda(direct_.cuda.wait_stream(stream_), "a stream"); }
  void send() {
    for (const Block& block : inputs_) {
      copy(block.device, block.host, block.bytes, gpu::CudaCopy::ToDevice);
    }
    wait();
  }

  const Direct& direct_;
  gpu::CudaStream stream_ = nullptr;
  OrtIoBinding* binding_ = nullptr;
  std::vector<Block> inputs_, outputs_;
};

// Threads that run for a given time on command, each on its own lane, and wait in between.
class Crew {
 public:
  struct Result {
    std::vector<uint64_t> latencies_ns;
    uint64_t elapsed_ns = 0;
  };

  Crew(const Direct& direct, const std::string& inputs) : direct_(direct), inputs_(inputs) {
    for (int i = 0; i < direct.options.threads; ++i) std::thread([this] { work(); }).detach();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return idle_ == direct_.options.threads; });
  }

  Result measure(uint64_t window_ns) {
    std::unique_lock<std::mutex> lock(mutex_);
    result_ = {};
    idle_ = 0;
    ++turn_;
    const uint64_t start_ns = now_ns();
    end_ns_ = start_ns + window_ns;
    changed_.notify_all();
    changed_.wait(lock, [this] { return idle_ == direct_.options.threads; });
    result_.elapsed_ns = last_ns_ - start_ns;
    std::sort(result_.latencies_ns.begin(), result_.latencies_ns.end());
    return std::move(result_);
  }

 private:
  void work() {
    Lane lane(direct_, inputs_);
    lane.bind_outputs(direct_.outputs);
    lane.run();
    std::vector<uint64_t> latencies_ns;
    uint64_t at_ns = 0;
    for (int turn = 0;; ++turn) {
      uint64_t end_ns = 0;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        result_.latencies_ns.insert(result_.latencies_ns.end(), latencies_ns.begin(),
                                    latencies_ns.end());
        last_ns_ = std::max(last_ns_, at_ns);
        ++idle_;
        changed_.notify_all();
        changed_.wait(lock, [this, turn] { return turn_ > turn; });
        end_ns = end_ns_;
      }
      latencies_ns.clear();
      at_ns = now_ns();
      do {
        const uint64_t before_ns = at_ns;
        lane.run();
        at_ns = now_ns();
        latencies_ns.push_back(at_ns - before_ns);
      } while (at_ns < end_ns);
    }
  }

  const Direct& direct_;
  const std::string& inputs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int idle_ = 0;  // guarded by mutex_, as are all members below
  int turn_ = 0;
  uint64_t end_ns_ = 0, last_ns_ = 0;
  Result result_;
};

// Interpolates linearly between the two nearest ranks, in us. Expects sorted values, at least one.
double percentile_us(const std::vector<uint64_t>& sorted_ns, double p) {
  const double rank = static_cast<double>(sorted_ns.size() - 1) * p / 100;
  const size_t low = static_cast<size_t>(rank);
  const size_t high = std::min(low + 1, sorted_ns.size() - 1);
  const double low_ns = static_cast<double>(sorted_ns[low]);
  const double high_ns = static_cast<double>(sorted_ns[high]);
  return (low_ns + (high_ns - low_ns) * (rank - static_cast<double>(low))) / 1000;
}

void print(const Crew::Result& result) {
  const double requests = static_cast<double>(result.latencies_ns.size());
  const double elapsed_us = static_cast<double>(result.elapsed_ns) / 1000;
  std::printf(
      "{\"requests\":%.0f,\"perSecond\":%.3f,\"usPerRequest\":%.3f,\"p50Us\":%.3f,"
      "\"p99Us\":%.3f,\"p999Us\":%.3f}\n",
      requests, requests * 1e6 / elapsed_us, elapsed_us / requests,
      percentile_us(result.latencies_ns, 50), percentile_us(result.latencies_ns, 99),
      percentile_us(result.latencies_ns, 99.9));
  std::fflush(stdout);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void write_answer(const Direct& direct, const Lane& lane) {
  std::ofstream file(direct.options.answer, std::ios::binary);
  for (const Block& block : lane.outputs()) {
    file.write(reinterpret_cast<const char*>(block.host),
               static_cast<std::streamsize>(block.bytes));
  }
  if (!file.flush()) fail("cannot write " + direct.options.answer);
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  Result<const OrtRuntime*> runtime = acquire_runtime(options.library, 0);
  if (!runtime.ok()) fail(runtime.error().message);
  open_gpu_libraries(runtime.value()->path, false);
  Result<const gpu::CudaCalls*> cuda = gpu::open_cuda();
  if (!cuda.ok()) fail(cuda.error().message);
  Direct direct{
      *runtime.value(), *runtime.value()->api, *cuda.value(), options, nullptr, nullptr, {}, {}};
  open_session(direct);
  read_inputs(direct);
  const std::string inputs = read_file(options.inputs);
  Lane first(direct, inputs);
  direct.outputs = first.probe();
  first.bind_outputs(direct.outputs);
  first.run();
  write_answer(direct, first);
  Crew crew(direct, inputs);
  std::printf("{\"event\":\"ready\"}\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const double seconds = std::atof(line.c_str());
    if (!(seconds > 0)) fail("expected seconds, got '" + line + "'");
    print(crew.measure(static_cast<uint64_t>(seconds * 1e9)));
  }
  std::_Exit(0);  // the threads wait for the next command
}
