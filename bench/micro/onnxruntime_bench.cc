// ONNX Runtime alone, in C++, against our backend with the same session settings: the cost of one
// run.
//
//   onnxruntime_bench MODEL.onnx [--batch N] [--iterations N] [--threads N] [--library PATH]
//   onnxruntime_bench --write DIR     writes half_plus_three.onnx and mlp.onnx, and the models of
//                                     guarded operators, with a guard and without; then stops
//
// Prints one line of JSON. "bare": Run on an existing value, output released (the reference of
// bench/). "backend": BackendModel::run over the same bytes. "backend_moving": the same with the
// input at another address each time, so that nothing of the input is reused. FP32 inputs only; the
// first dimension is the batch, other free dimensions are 1. Both results are compared before
// timing.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../../test/native/support/onnx_writer.h"
#include "backend/backend.h"
#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/library.h"
#include "base/clock.h"

namespace {

using namespace serval;
using namespace serval::ort;

struct Options {
  std::string model, library, write;
  int64_t batch = 4;
  int iterations = 5000;
  int threads = 1;
};

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "onnxruntime_bench: %s\n", text.c_str());
  std::exit(1);
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
    if (name == "--batch") options.batch = std::atoll(value);
    else if (name == "--iterations") options.iterations = std::atoi(value);
    else if (name == "--threads") options.threads = std::atoi(value);
    else if (name == "--library") options.library = value;
    else if (name == "--write") options.write = value;
    else fail("unknown option " + std::string(name));
  }
  if (options.model.empty() && options.write.empty()) fail("no model was given");
  if (options.batch < 1 || options.iterations < 1) fail("batch and iterations must be positive");
  return options;
}

// One operator over FP32 data of `dims`: free dimensions make the engine add a guard before it.
onnx::Model one_operator(std::string_view op, const std::vector<onnx::Dim>& dims) {
  onnx::Model model;
  std::vector<std::string> inputs = {"x"}, outputs = {"y"};
  if (op == "TopK") {
    model.initializer<int64_t>("k", onnx::kInt64, {1}, {3});
    inputs.push_back("k");
    outputs.push_back("i");
    model.output("i", onnx::kInt64, std::nullopt);
  } else {
    model.initializer<float>("w", onnx::kFloat, {1, 1, 3}, {1, 2, 3});
    inputs.push_back("w");
  }
  model.node(op, inputs, outputs).input("x", onnx::kFloat, dims);
  return model.output("y", onnx::kFloat, std::nullopt);
}

void write_models(const std::string& directory) {
  const auto write = [&directory](const char* name, const std::string& bytes) {
    const std::string path = directory + "/" + name;
    FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
        std::fclose(file) != 0) {
      fail("cannot write " + path);
    }
  };
  write("half_plus_three.onnx", onnx::half_plus_three().to_bytes());
  write("mlp.onnx", onnx::mlp().to_bytes());
  const onnx::Dim batch = int64_t{4};
  write("topk.onnx", one_operator("TopK", {batch, int64_t{8}}).to_bytes());
  write("topk_guarded.onnx", one_operator("TopK", {"batch", int64_t{8}}).to_bytes());
  const std::vector<onnx::Dim> image = {int64_t{1}, int64_t{64}};
  write("deconv.onnx", one_operator("ConvTranspose", {batch, image[0], image[1]}).to_bytes());
  write("deconv_guarded.onnx",
        one_operator("ConvTranspose", {"batch", image[0], image[1]}).to_bytes());
}

void check(const OrtApi& api, OrtStatus* status) {
  if (status != nullptr) fail(api.GetErrorMessage(status));
}

// Returns the best of 25 rounds of each loop, in ns per call. The loops take turns, so that other
// load on the machine does not affect only one of them.
std::vector<double> best_ns(int iterations, const std::vector<std::function<void(int)>>& loops) {
  std::vector<double> best(loops.size(), 1e18);
  for (const auto& loop : loops) loop(iterations / 10);
  for (int round = 0; round < 25; ++round) {
    for (size_t i = 0; i < loops.size(); ++i) {
      const uint64_t start = now_ns();
      loops[i](iterations);
      best[i] = std::min(best[i], static_cast<double>(now_ns() - start) / iterations);
    }
  }
  return best;
}

// A second session over the same file, with equivalent options and nothing else of Serval's.
OrtSession* bare_session(const OrtRuntime& runtime, const std::string& path) {
  const OrtApi& api = *runtime.api;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  check(api, api.CreateSessionOptions(&options));
  check(api, api.DisablePerSessionThreads(options));
  check(api, api.CreateSession(runtime.env, path.c_str(), options, &session));
  api.ReleaseSessionOptions(options);
  return session;
}

struct Workload {
  std::vector<std::vector<float>> values[2];  // two copies at different addresses
  std::vector<TensorView> views[2];
  std::vector<uint32_t> outputs;
};

Workload make_workload(const Signature& signature, int64_t batch) {
  Workload workload;
  for (const TensorSpec& spec : signature.inputs) {
    if (spec.dtype != DType::Fp32) fail("input " + spec.name + " is not FP32");
    TensorView view;
    view.dtype = spec.dtype;
    for (size_t i = 0; i < spec.dims.size(); ++i) {
      const int64_t dim = spec.dims[i] >= 0 ? spec.dims[i] : (i == 0 ? batch : 1);
      if (!view.shape.push_back(dim)) fail("rank");
    }
    const size_t elements = *view.shape.elements();
    view.bytes = elements * sizeof(float);
    for (int copy = 0; copy < 2; ++copy) {
      std::vector<float>& values = workload.values[copy].emplace_back(elements);
      for (size_t i = 0; i < elements; ++i) values[i] = static_cast<float>(i % 17) * 0.25f;
      view.data = reinterpret_cast<const uint8_t*>(values.data());
      workload.views[copy].push_back(view);
    }
  }
  for (uint32_t i = 0; i < signature.outputs.size(); ++i) workload.outputs.push_back(i);
  return workload;
}

// The reference: only Run and the release of its result.
struct BareRun {
  const OrtApi& api;
  OrtSession* session;
  std::vector<const char*> input_names, output_names;
  std::vector<const OrtValue*> inputs;
  std::vector<OrtValue*> outputs;

  void run() {
    check(api, api.Run(session, nullptr, input_names.data(), inputs.data(), inputs.size(),
                       output_names.data(), output_names.size(), outputs.data()));
  }
  void release() {
    for (OrtValue*& value : outputs) {
      api.ReleaseValue(value);
      value = nullptr;
    }
  }
};

BareRun make_bare_run(const OrtRuntime& runtime, const std::string& path,
                      const Signature& signature, const Workload& workload) {
  BareRun bare{*runtime.api, bare_session(runtime, path), {}, {}, {}, {}};
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorView& view = workload.views[0][i];
    bare.input_names.push_back(signature.inputs[i].name.c_str());
    OrtValue* value = nullptr;
    check(bare.api, bare.api.CreateTensorWithDataAsOrtValue(
                        runtime.cpu_memory, const_cast<uint8_t*>(view.data), view.bytes,
                        view.shape.dims().data(), view.shape.rank(),
                        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    bare.inputs.push_back(value);
  }
  for (const TensorSpec& spec : signature.outputs) bare.output_names.push_back(spec.name.c_str());
  bare.outputs.assign(bare.output_names.size(), nullptr);
  return bare;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  if (!options.write.empty()) {
    write_models(options.write);
    return 0;
  }
  Result<const OrtRuntime*> runtime = acquire_runtime(options.library, options.threads);
  if (!runtime.ok()) fail(runtime.error().message);
  ModelSpec spec;
  spec.path = options.model;
  auto backend = make_onnxruntime_backend(options.library, options.threads);
  Result<std::shared_ptr<BackendModel>> loaded = backend->load(spec);
  if (!loaded.ok()) fail(loaded.error().message);
  BackendModel& model = *loaded.value();
  const Signature& signature = model.info().signatures.front();
  const Workload workload = make_workload(signature, options.batch);
  const std::unique_ptr<BackendScratch> scratch = model.make_scratch();
  size_t turn = 0;
  const auto run = [&] {
    const Status status = model.run(0, workload.views[turn], workload.outputs, *scratch, nullptr);
    if (!status.ok()) fail(status.error().message);
  };
  BareRun bare = make_bare_run(*runtime.value(), options.model, signature, workload);
  run();
  bare.run();
  const TensorView& ours = scratch->outputs()[0];
  void* reference = nullptr;
  check(bare.api, bare.api.GetTensorMutableData(bare.outputs[0], &reference));
  if (std::memcmp(ours.data, reference, ours.bytes) != 0) fail("answers differ");
  scratch->release_outputs();
  bare.release();

  const auto backend_loop = [&](int iterations, size_t step) {
    for (int i = 0; i < iterations; ++i) {
      turn = (turn + step) % 2;
      run();
      scratch->release_outputs();
    }
  };
  const std::vector<double> ns =
      best_ns(options.iterations, {[&bare](int iterations) {
                                     for (int i = 0; i < iterations; ++i) {
                                       bare.run();
                                       bare.release();
                                     }
                                   },
                                   [&](int iterations) { backend_loop(iterations, 0); },
                                   [&](int iterations) { backend_loop(iterations, 1); }});
  std::printf(
      "{\"model\":\"%s\",\"library\":\"%s\",\"batch\":%lld,\"threads\":%d,"
      "\"ns_per_run\":{\"bare\":%.0f,\"backend\":%.0f,\"backend_moving\":%.0f}}\n",
      options.model.c_str(), runtime.value()->version.c_str(),
      static_cast<long long>(options.batch), options.threads, ns[0], ns[1], ns[2]);
  return 0;
}
