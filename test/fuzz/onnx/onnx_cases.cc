// Runs the cases of ONNX's own backend suite (make-onnx-cases.py) through our ONNX Runtime backend,
// each in its own process: unchanged, and with zero dimensions, extreme values and huge parameters.
// It finds inputs that end the process, not inputs that are refused. Test time only.
//
//   onnx_cases FOLDER [--seconds N] [--seed N] [CASE...]
//
// --seed shuffles the cases; --seconds stops after that time. Prints "ran <case>" for one that
// loads, "wrong <case>" for a result that differs from the suite's, "died <case>: <signal>, <what
// was sent>", "slow ..." for a run that was ended after 4 seconds, and a last line of counts.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kRunLimit = std::chrono::seconds(4);
constexpr uint64_t kMemoryBytes = uint64_t{4} << 30;
constexpr int kDeathsMax = 4;       // of one case
constexpr size_t kSmallInput = 12;  // elements: a parameter rather than data

struct Tensor {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  std::string bytes;

  size_t elements() const { return bytes.size() / dtype_bytes(dtype); }
  void resize(std::vector<int64_t> to) {
    size_t count = 1;
    for (const int64_t dim : to) count *= static_cast<size_t>(dim);
    const size_t each = dtype_bytes(dtype);
    std::string filled;
    for (size_t i = 0; i < count; ++i) {
      const size_t from = elements() == 0 ? 0 : i % elements();
      filled += elements() == 0 ? std::string(each, '\0') : bytes.substr(from * each, each);
    }
    dims = std::move(to);
    bytes = std::move(filled);
  }
};

struct Case {
  std::string name, model;
  std::vector<Tensor> inputs, outputs;
};

struct Change {
  std::string what;
  std::function<void(std::vector<Tensor>&)> apply;
};

bool is_integer(DType dtype) { return dtype >= DType::Uint8 && dtype <= DType::Int64; }

bool is_real(DType dtype) {
  return dtype == DType::Fp16 || dtype == DType::Fp32 || dtype == DType::Fp64 ||
         dtype == DType::Bf16;
}

// Sets one element to a number, in its own type; integers saturate.
void set_element(Tensor& tensor, size_t at, double value) {
  const auto put = [&](auto number) {
    std::memcpy(tensor.bytes.data() + at * sizeof number, &number, sizeof number);
  };
  const auto whole = [&]<typename T>(T) {
    const double low = static_cast<double>(std::numeric_limits<T>::lowest());
    const double high = static_cast<double>(std::numeric_limits<T>::max());
    if (value <= low) put(std::numeric_limits<T>::lowest());
    else if (value >= high) put(std::numeric_limits<T>::max());
    else put(static_cast<T>(value));
  };
  switch (tensor.dtype) {
    case DType::Bool: put(static_cast<uint8_t>(value != 0)); break;
    case DType::Int8: whole(int8_t()); break;
    case DType::Uint8: whole(uint8_t()); break;
    case DType::Int16: whole(int16_t()); break;
    case DType::Uint16: whole(uint16_t()); break;
    case DType::Int32: whole(int32_t()); break;
    case DType::Uint32: whole(uint32_t()); break;
    case DType::Int64: whole(int64_t()); break;
    case DType::Uint64: whole(uint64_t()); break;
    case DType::Fp32: put(static_cast<float>(value)); break;
    case DType::Fp64: put(value); break;
    case DType::Fp16:
      put(static_cast<uint16_t>(std::isnan(value) ? 0x7e00
                                : value > 0       ? 0x7bff
                                : value < 0       ? 0xfbff
                                                  : 0));
      break;
    case DType::Bf16:
      put(static_cast<uint16_t>(std::isnan(value) ? 0x7fc0
                                : value > 0       ? 0x7f7f
                                : value < 0       ? 0xff7f
                                                  : 0));
      break;
    default: break;
  }
}

void fill(Tensor& tensor, double value) {
  for (size_t i = 0; i < tensor.elements(); ++i) set_element(tensor, i, value);
}

std::vector<double> extremes_of(DType dtype) {
  if (is_integer(dtype)) return {-1e30, 1e30, -1, 0, 1, 100, 1 << 20, 2147483648.0, 1e12};
  if (is_real(dtype)) return {NAN, INFINITY, -INFINITY, 0, -1, 3e38, -3e38, 1e10, 1e-30, 1000};
  return {0, 1};
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

void change_shapes(const Case& given, std::vector<Change>& changes) {
  size_t rank_max = 0;
  for (size_t i = 0; i < given.inputs.size(); ++i) {
    const Tensor& input = given.inputs[i];
    const std::string name = "input " + std::to_string(i);
    rank_max = std::max(rank_max, input.dims.size());
    const auto resized = [&](std::string what, std::vector<int64_t> dims) {
      changes.push_back({name + what, [i, dims](auto& inputs) { inputs[i].resize(dims); }});
    };
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      for (const int64_t dim : {int64_t{0}, int64_t{1}, input.dims[axis] + 1}) {
        std::vector<int64_t> dims = input.dims;
        dims[axis] = dim;
        resized(" dim " + std::to_string(axis) + " = " + std::to_string(dim), dims);
      }
    }
    if (input.dims.size() == 1) resized(" of 100 elements", {100});
  }
  for (size_t axis = 0; axis < rank_max; ++axis) {
    changes.push_back({"every dim " + std::to_string(axis) + " = 0", [axis](auto& inputs) {
                         for (Tensor& input : inputs) {
                           if (axis >= input.dims.size()) continue;
                           std::vector<int64_t> dims = input.dims;
                           dims[axis] = 0;
                           input.resize(dims);
                         }
                       }});
  }
}

void change_values(const Case& given, std::vector<Change>& changes) {
  const size_t count = given.inputs.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string name = "input " + std::to_string(i);
    const Tensor& input = given.inputs[i];
    for (const double value : extremes_of(input.dtype)) {
      changes.push_back({name + " all " + number_text(value),
                         [i, value](auto& inputs) { fill(inputs[i], value); }});
      if (input.elements() > kSmallInput || input.elements() < 2) continue;
      for (size_t at = 0; at < input.elements(); ++at) {
        changes.push_back({name + " element " + std::to_string(at) + " = " + number_text(value),
                           [i, at, value](auto& inputs) { set_element(inputs[i], at, value); }});
      }
    }
    for (size_t j = 0; j < count; ++j) {
      if (i == j || !is_integer(input.dtype) || !is_integer(given.inputs[j].dtype)) continue;
      for (const double value : {-1.0, 0.0, 1e30}) {
        changes.push_back(
            {name + " lowest, input " + std::to_string(j) + " all " + number_text(value),
             [i, j, value](auto& inputs) {
               fill(inputs[i], -1e30);
               fill(inputs[j], value);
             }});
      }
    }
  }
}

std::vector<Change> changes_of(const Case& given) {
  std::vector<Change> changes = {{"as it is", [](auto&) {}}};
  change_shapes(given, changes);
  change_values(given, changes);
  return changes;
}

Case read_case(const fs::path& folder) {
  Case made;
  made.name = folder.filename().string();
  made.model = (folder / "model.onnx").string();
  std::ifstream lines(folder / "tensors.txt"), bytes(folder / "tensors.bin", std::ios::binary);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string role, type;
    words >> role >> type;
    Tensor tensor;
    tensor.dtype = dtype_from_name(type);
    uint64_t count = 1;
    for (int64_t dim; words >> dim;) {
      tensor.dims.push_back(dim);
      count *= static_cast<uint64_t>(dim);
    }
    tensor.bytes.resize(count * dtype_bytes(tensor.dtype));
    bytes.read(tensor.bytes.data(), static_cast<std::streamsize>(tensor.bytes.size()));
    (role == "input" ? made.inputs : made.outputs).push_back(std::move(tensor));
  }
  return made;
}

// The child's report to its parent, in shared memory.
struct Progress {
  uint32_t next;  // the change that is running
  uint32_t ran, refused, loaded, wrong;
  char text[400];
};

void note(Progress& progress, const std::string& text) {
  std::strncpy(progress.text, text.c_str(), sizeof progress.text - 1);
}

double element_of(const uint8_t* data, DType dtype, size_t at) {
  const auto get = [&]<typename T>(T value) {
    std::memcpy(&value, data + at * sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  switch (dtype) {
    case DType::Bool:
    case DType::Uint8: return get(uint8_t());
    case DType::Int8: return get(int8_t());
    case DType::Uint16: return get(uint16_t());
    case DType::Int16: return get(int16_t());
    case DType::Uint32: return get(uint32_t());
    case DType::Int32: return get(int32_t());
    case DType::Uint64: return get(uint64_t());
    case DType::Int64: return get(int64_t());
    case DType::Fp32: return get(float());
    case DType::Fp64: return get(double());
    default: return 0;
  }
}

bool same_values(const Tensor& expected, const TensorView& got) {
  if (got.dtype != expected.dtype || got.bytes != expected.bytes.size()) return false;
  const uint8_t* wanted = reinterpret_cast<const uint8_t*>(expected.bytes.data());
  if (!is_real(got.dtype)) return std::memcmp(wanted, got.data, got.bytes) == 0;
  for (size_t i = 0; i < expected.elements(); ++i) {
    const double a = element_of(wanted, got.dtype, i), b = element_of(got.data, got.dtype, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b || std::fabs(a - b) <= 1e-3 + 1e-2 * std::fabs(a)) continue;
    return false;
  }
  return true;
}

// The child: runs every change from progress.next on.
void run_case(const Case& given, Progress& progress) {
  const rlimit memory = {kMemoryBytes, kMemoryBytes}, none = {0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &none);
  const auto backend = make_onnxruntime_backend(onnxruntime_library(), 1);
  ModelSpec spec;
  spec.path = given.model;
  auto loaded = backend->load(spec);
  if (!loaded.ok()) return note(progress, "not loaded: " + loaded.error().message);
  progress.loaded = 1;
  BackendModel& model = *loaded.value();
  if (model.info().signatures[0].inputs.size() != given.inputs.size()) return;
  const auto scratch = model.make_scratch();
  const std::vector<Change> changes = changes_of(given);
  std::vector<uint32_t> outputs(model.info().signatures[0].outputs.size());
  for (uint32_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
  for (; progress.next < changes.size(); ++progress.next) {
    const Change& change = changes[progress.next];
    note(progress, change.what);
    std::vector<Tensor> inputs = given.inputs;
    change.apply(inputs);
    std::vector<TensorView> views;
    for (const Tensor& input : inputs) {
      TensorView& view = views.emplace_back();
      view.dtype = input.dtype;
      view.shape = Shape(input.dims);
      view.data = reinterpret_cast<const uint8_t*>(input.bytes.data());
      view.bytes = input.bytes.size();
    }
    const Status status = model.run(0, views, outputs, *scratch, nullptr);
    ++progress.ran;
    if (!status.ok()) ++progress.refused;
    if (progress.next == 0) {
      bool same = status.ok() && scratch->outputs().size() == given.outputs.size();
      for (size_t i = 0; same && i < given.outputs.size(); ++i) {
        same = same_values(given.outputs[i], scratch->outputs()[i]);
      }
      if (!same) progress.wrong = 1;
    }
    scratch->release_outputs();
  }
}

struct Counts {
  int cases = 0, unloaded = 0, wrong = 0, died = 0, slow = 0;
  uint64_t ran = 0, refused = 0;
};

// Waits for the child; returns its exit status, or -1 if it was killed because it made no progress.
int wait_for(pid_t child, const Progress& progress) {
  uint32_t last = progress.next;
  auto since = Clock::now();
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    const timespec pause = {0, 1000000};
    nanosleep(&pause, nullptr);
    if (progress.next != last) {
      last = progress.next;
      since = Clock::now();
    } else if (Clock::now() - since > kRunLimit) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
  }
}

void judge_case(const Case& given, Counts& counts) {
  void* shared =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Progress& progress = *new (shared) Progress{};
  ++counts.cases;
  for (int deaths = 0; deaths < kDeathsMax;) {
    const pid_t child = fork();
    if (child == 0) {
      const int silent = open("/dev/null", O_WRONLY);
      dup2(silent, 2);
      run_case(given, progress);
      _exit(0);
    }
    const int status = wait_for(child, progress);
    if (status == 0) break;
    if (status == -1) {
      ++counts.slow;
      std::printf("slow %s: %s\n", given.name.c_str(), progress.text);
    } else {
      ++counts.died;
      std::printf("died %s: %s, %s%s\n", given.name.c_str(), strsignal(WTERMSIG(status)),
                  progress.loaded != 0 ? "" : "at load: ", progress.text);
    }
    std::fflush(stdout);
    ++deaths;
    if (progress.loaded == 0) break;
    ++progress.next;
  }
  counts.ran += progress.ran;
  counts.refused += progress.refused;
  counts.unloaded += progress.loaded == 0;
  counts.wrong += progress.wrong != 0;
  if (progress.loaded != 0) std::printf("ran %s\n", given.name.c_str());
  else std::printf("unloaded %s: %s\n", given.name.c_str(), progress.text);
  if (progress.wrong != 0) std::printf("wrong %s\n", given.name.c_str());
  munmap(shared, sizeof(Progress));
}

int main_of(int argc, char** argv) {
  std::vector<std::string> only;
  long seconds = 0, seed = -1;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seconds" && i + 1 < argc) seconds = std::atol(argv[++i]);
    else if (word == "--seed" && i + 1 < argc) seed = std::atol(argv[++i]);
    else only.push_back(word);
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(argv[1])) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  if (seed >= 0) {
    std::shuffle(folders.begin(), folders.end(), std::mt19937(static_cast<uint32_t>(seed)));
  }
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  Counts counts;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) continue;
    if (seconds > 0 && Clock::now() > end) break;
    judge_case(read_case(folder), counts);
  }
  std::printf("%d cases, %d not loaded, %d wrong, %llu runs, %llu refused, %d died, %d slow\n",
              counts.cases, counts.unloaded, counts.wrong,
              static_cast<unsigned long long>(counts.ran),
              static_cast<unsigned long long>(counts.refused), counts.died, counts.slow);
  return counts.died == 0 ? 0 : 1;
}

}  // namespace
}  // namespace serval

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  return serval::main_of(argc, argv);
}
