// The null backend: echo, delay, fail. Makes every path of the server testable with no model file
// and no runtime. Load: control plane; run(): any thread. Holds no state between runs.
#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "backend/backend.h"
#include "base/limits.h"

namespace serval {

namespace {

enum class NullMode : uint8_t { Echo, Delay, Fail };

// Delays are for tests: over an hour is a mistake in the units.
constexpr int64_t kDelayUsMax = 3'600'000'000;
// How long a cancelled run may continue.
constexpr auto kCancelCheckInterval = std::chrono::microseconds(200);

Error bad_spec(const ModelSpec& spec, const std::string& what) {
  return make_error(ErrorCode::ModelInvalid, "null model '" + spec.name + "': " + what);
}

bool parse_mode(std::string_view text, NullMode& mode) {
  if (text == "echo") mode = NullMode::Echo;
  else if (text == "delay") mode = NullMode::Delay;
  else if (text == "fail") mode = NullMode::Fail;
  else return false;
  return true;
}

// Reads one list of null_signature; `list` names it in errors.
Status check_tensors(const ModelSpec& spec, const std::string& list,
                     const std::vector<TensorSpec>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& tensor = tensors[i];
    const std::string where = list + " " + std::to_string(i) + " ('" + tensor.name + "')";
    if (tensor.name.empty()) return bad_spec(spec, where + " has no name");
    if (tensor.name.size() > kNameBytesMax) return bad_spec(spec, where + ": name is too long");
    if (tensor.dtype == DType::Invalid) return bad_spec(spec, where + " has no datatype");
    if (tensor.dims.size() > kRankMax) {
      return bad_spec(spec, where + " has " + std::to_string(tensor.dims.size()) +
                                " dimensions; the limit is " + std::to_string(kRankMax));
    }
    for (int64_t dim : tensor.dims) {
      if (dim >= -1) continue;
      return bad_spec(spec,
                      where + ": expected dimensions of -1 or more, got " + std::to_string(dim));
    }
    if (!tensor.symbols.empty() && tensor.symbols.size() != tensor.dims.size()) {
      return bad_spec(spec, where + " has " + std::to_string(tensor.symbols.size()) +
                                " symbols for " + std::to_string(tensor.dims.size()) +
                                " dimensions");
    }
    for (size_t earlier = 0; earlier < i; ++earlier) {
      if (tensors[earlier].name == tensor.name) return bad_spec(spec, where + " occurs twice");
    }
  }
  return {};
}

// Output i echoes input i, and must have its dtype.
Status check_signature(const ModelSpec& spec) {
  const Signature& signature = spec.null_signature;
  if (signature.outputs.empty()) return bad_spec(spec, "null_signature has no outputs");
  if (Status status = check_tensors(spec, "input", signature.inputs); !status.ok()) return status;
  if (Status status = check_tensors(spec, "output", signature.outputs); !status.ok()) return status;
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const TensorSpec& output = signature.outputs[i];
    const std::string where = "output " + std::to_string(i) + " ('" + output.name + "')";
    if (i >= signature.inputs.size()) {
      return bad_spec(spec, where + " has no input at its position to echo: the signature has " +
                                std::to_string(signature.inputs.size()) + " inputs");
    }
    if (output.dtype != signature.inputs[i].dtype) {
      return bad_spec(spec, where + ": expected " +
                                std::string(dtype_name(signature.inputs[i].dtype)) +
                                ", the datatype of the input it echoes, got " +
                                std::string(dtype_name(output.dtype)));
    }
  }
  return {};
}

class NullScratch final : public BackendScratch {
 public:
  std::span<const TensorView> outputs() const override { return outputs_; }
  void release_outputs() override { outputs_.clear(); }
  void echo(std::span<const TensorView> inputs, std::span<const uint32_t> output_indices) {
    for (uint32_t index : output_indices) outputs_.push_back(inputs[index]);
  }

 private:
  std::vector<TensorView> outputs_;
};

// Immutable: any thread.
class NullModel final : public BackendModel {
 public:
  NullModel(const ModelSpec& spec, NullMode mode) : mode_(mode), delay_us_(spec.null_delay_us) {
    info_.signatures.push_back(spec.null_signature);
    if (info_.signatures[0].name.empty()) info_.signatures[0].name = "serving_default";
    info_.producer = "serval null backend";
    info_.model_version = spec.version;
    info_.metadata = {{"null_mode", spec.null_mode},
                      {"null_delay_us", std::to_string(spec.null_delay_us)}};
    info_.providers = {"null"};
    info_.computes = mode != NullMode::Delay;
  }

  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override {
    return std::make_unique<NullScratch>();
  }

  Status run(uint32_t signature, std::span<const TensorView> inputs,
             std::span<const uint32_t> output_indices, BackendScratch& scratch,
             const RunOptions& options) override {
    scratch.release_outputs();
    const Signature& takes = info_.signatures[0];
    if (signature != 0 || inputs.size() != takes.inputs.size()) {
      return make_error(ErrorCode::Internal,
                        "null backend: expected " + std::to_string(takes.inputs.size()) +
                            " inputs for signature 0, got " + std::to_string(inputs.size()) +
                            " for signature " + std::to_string(signature));
    }
    if (mode_ == NullMode::Fail) {
      return make_error(ErrorCode::BackendFailed, "null backend: asked to fail");
    }
    if (mode_ == NullMode::Delay && !wait(options.cancel)) {
      return make_error(ErrorCode::Cancelled, "null backend: cancelled while it waited");
    }
    for (uint32_t index : output_indices) {
      if (index < takes.outputs.size()) continue;
      return make_error(ErrorCode::Internal, "null backend: no output " + std::to_string(index));
    }
    static_cast<NullScratch&>(scratch).echo(inputs, output_indices);
    return {};
  }

 private:
  // Waits for the delay; false if cancelled. Sleeps briefly, so that it notices the flag.
  bool wait(const CancelFlag* cancel) const {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::microseconds(delay_us_);
    for (;;) {
      if (cancel != nullptr && cancel->cancelled()) return false;
      const auto left = end - Clock::now();
      if (left <= Clock::duration::zero()) return true;
      std::this_thread::sleep_for(
          cancel == nullptr ? left : std::min<Clock::duration>(left, kCancelCheckInterval));
    }
  }

  BackendModelInfo info_;
  NullMode mode_;
  int64_t delay_us_;
};

class NullBackend final : public Backend {
 public:
  Result<std::shared_ptr<BackendModel>> load(const ModelSpec& spec) override {
    NullMode mode = NullMode::Echo;
    if (!parse_mode(spec.null_mode, mode)) {
      return bad_spec(spec, "expected null_mode echo, delay or fail, got '" + spec.null_mode + "'");
    }
    if (spec.null_delay_us < 0 || spec.null_delay_us > kDelayUsMax) {
      return bad_spec(spec, "expected null_delay_us of 0 to " + std::to_string(kDelayUsMax) +
                                ", got " + std::to_string(spec.null_delay_us));
    }
    if (Status status = check_signature(spec); !status.ok()) return std::move(status.error());
    return std::shared_ptr<BackendModel>(std::make_shared<NullModel>(spec, mode));
  }
};

}  // namespace

std::unique_ptr<Backend> make_null_backend() { return std::make_unique<NullBackend>(); }

}  // namespace serval
