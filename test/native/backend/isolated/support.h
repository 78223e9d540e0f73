// A thread in place of a model's process, models of the null backend, and tensors to send. Test
// time only.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "backend/isolated/model.h"
#include "backend/isolated/serve.h"

namespace serval::isolated {

inline TensorSpec spec(const std::string& name, DType dtype) {
  return {name, dtype, {-1}, {}, false};
}

// Runs a thread in place of a process. `run` receives the descriptors and owns them.
class ThreadLauncher final : public Launcher {
 public:
  using Run = std::function<void(int socket, int cancel_event, int start)>;
  explicit ThreadLauncher(Run run) : run_(std::move(run)) {}
  ~ThreadLauncher() override {
    if (thread_.joinable()) thread_.join();
  }
  Result<int64_t> start(int socket, int cancel_event, int) override {
    const int start = ++starts_;
    thread_ = std::thread([this, start, socket = dup(socket), cancel_event = dup(cancel_event)] {
      run_(socket, cancel_event, start);
      close(socket);
      close(cancel_event);
    });
    return int64_t{1000} + start;
  }
  End wait(int64_t) override {
    thread_.join();
    return {"SIGKILL", "its process ended by signal 9 (SIGKILL)"};
  }
  void kill(int64_t) override {
    if (on_kill_) on_kill_();
  }
  // Sets how kill() ends the work. Call it before the first start.
  void on_kill(std::function<void()> work) { on_kill_ = std::move(work); }

 private:
  const Run run_;
  std::function<void()> on_kill_;
  std::atomic<int> starts_{0};
  std::thread thread_;
};

inline ModelSpec null_spec(const std::string& mode) {
  ModelSpec model;
  model.name = "m";
  model.backend = "null";
  model.null_mode = mode;
  model.null_delay_us = 3'000'000'000;
  model.null_signature = {
      "serving_default",
      {spec("a", DType::Fp32), spec("b", DType::Bytes), spec("c", DType::Int64)},
      {spec("p", DType::Fp32), spec("q", DType::Bytes), spec("r", DType::Int64)}};
  return model;
}

// Serves `backend` in a thread that takes the place of a process.
inline void serve_backend(Backend& backend, int socket, int cancel_event) {
  ServeOptions options;
  options.socket = socket;
  options.cancel_event = cancel_event;
  options.is_process = false;
  options.parse = [](std::span<const uint8_t> bytes) -> Result<ModelSpec> {
    return null_spec(std::string(bytes.begin(), bytes.end()));
  };
  options.backend = [&](const std::string&) { return &backend; };
  serve(options);
}

inline void serve_null(int socket, int cancel_event) {
  const std::unique_ptr<Backend> null = make_null_backend();
  serve_backend(*null, socket, cancel_event);
}

inline ModelSource source(const std::string& mode) {
  Result<Descriptor> blob = blob_of({reinterpret_cast<const uint8_t*>(mode.data()), mode.size()});
  EXPECT_TRUE(blob.ok());
  return {"m", std::move(blob.value()), 0};
}

inline std::shared_ptr<ModelProcess> process_of(ThreadLauncher::Run run,
                                                MemoryBudget* budget = nullptr,
                                                Pauses pauses = {1, 4, 60'000}) {
  return std::make_shared<ModelProcess>(std::make_unique<ThreadLauncher>(std::move(run)), budget,
                                        pauses);
}

inline std::shared_ptr<BackendModel> load(const std::shared_ptr<ModelProcess>& process,
                                          const std::string& mode, MemoryBudget* budget = nullptr) {
  auto loaded = load_isolated(process, source(mode), budget);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded.ok() ? loaded.value() : nullptr;
}

inline std::shared_ptr<ModelProcess> null_process(MemoryBudget* budget = nullptr) {
  return process_of([](int socket, int event, int) { serve_null(socket, event); }, budget);
}

// Inputs of `count` elements each, with the memory that their views point at.
struct Inputs {
  std::vector<float> floats;
  std::vector<std::string> texts;
  std::vector<std::string_view> strings;
  std::vector<int64_t> numbers;
  std::vector<TensorView> views;

  Inputs(size_t count, unsigned seed) {
    std::minstd_rand random(seed);
    for (size_t i = 0; i < count; ++i) {
      floats.push_back(static_cast<float>(random()) / 7.0f);
      numbers.push_back(static_cast<int64_t>(random()) - 1'000'000);
      texts.emplace_back(random() % 40, static_cast<char>(random() % 256));
    }
    for (const std::string& one : texts) strings.emplace_back(one);
    const int64_t dims[] = {static_cast<int64_t>(count)};
    for (const DType dtype : {DType::Fp32, DType::Bytes, DType::Int64}) {
      TensorView& view = views.emplace_back();
      view.dtype = dtype;
      view.shape = Shape(dims);
    }
    views[0].data = reinterpret_cast<const uint8_t*>(floats.data());
    views[0].bytes = count * sizeof(float);
    views[1].strings = strings;
    views[2].data = reinterpret_cast<const uint8_t*>(numbers.data());
    views[2].bytes = count * sizeof(int64_t);
  }
};

}  // namespace serval::isolated
