// Checks an ensemble's steps against the models that they name. Control plane; a load thread.
#include "engine/ensemble/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "backend/isolated/isolated.h"

namespace serval {

namespace {

// A tensor of the ensemble, as its maker declares it.
struct MadeTensor {
  size_t number = 0;
  const TensorSpec* spec = nullptr;
  std::string maker;  // "the input of the ensemble", "step 1 (model 'x', version 1)"
};

std::string dims_of(const TensorSpec& spec) {
  return spec.unknown_rank ? "any shape" : "shape " + dims_text(spec);
}

bool is_one(const std::vector<int64_t>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 1; });
}

// Whether some shape fits both. A scalar may be sent as one element.
bool may_agree(const TensorSpec& a, const TensorSpec& b) {
  if (a.unknown_rank || b.unknown_rank || a.unchecked || b.unchecked) return true;
  if (a.dims.empty() || b.dims.empty()) return is_one(a.dims) && is_one(b.dims);
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](int64_t x, int64_t y) { return x == -1 || y == -1 || x == y; });
}

DType plain(DType dtype) { return dtype == DType::String ? DType::Bytes : dtype; }

// "Do 'a' and 'b' agree?": an error that names both sides, or success.
Status check_link(const MadeTensor& from, std::string_view tensor, const TensorSpec& to,
                  const std::string& reader) {
  const DType made = plain(from.spec->dtype);
  const DType wanted = plain(to.dtype);
  std::string made_text;
  std::string wanted_text;
  if (made != wanted) {
    made_text = dtype_name(made);
    wanted_text = dtype_name(wanted);
  } else if (!may_agree(*from.spec, to)) {
    made_text = dims_of(*from.spec);
    wanted_text = dims_of(to);
  } else {
    return {};
  }
  return make_error(ErrorCode::ModelInvalid, reader + ": '" + to.name + "' is " + wanted_text +
                                                 ", but tensor '" + std::string(tensor) + "' of " +
                                                 from.maker + " is " + made_text);
}

class Planner {
 public:
  Planner(const ModelSpec& spec, const std::vector<std::shared_ptr<Model>>& models)
      : spec_(spec), models_(models) {}

  Result<EnsemblePlan> plan() {
    const Signature& own = spec_.ensemble_signature;
    if (spec_.ensemble.empty()) return wrong("the ensemble has no steps");
    for (const TensorSpec& input : own.inputs) {
      tensors_.emplace(input.name, MadeTensor{tensors_.size(), &input, "the ensemble's input"});
    }
    for (size_t i = 0; i < spec_.ensemble.size(); ++i) {
      if (Status added = add_outputs(i); !added.ok()) return std::move(added.error());
    }
    for (size_t i = 0; i < spec_.ensemble.size(); ++i) {
      if (Status added = add_inputs(i); !added.ok()) return std::move(added.error());
    }
    EnsemblePlan plan;
    plan.tensors = tensors_.size();
    for (const TensorSpec& output : own.outputs) {
      const auto found = tensors_.find(output.name);
      if (found == tensors_.end()) {
        return wrong("output '" + output.name + "' is made by no step");
      }
      Status fits = check_link(found->second, output.name, output, "the ensemble's output");
      if (!fits.ok()) return std::move(fits.error());
      plan.outputs.push_back(found->second.number);
    }
    Status sorted = sort(plan);
    if (!sorted.ok()) return std::move(sorted.error());
    return plan;
  }

 private:
  static Error wrong(std::string text) {
    return make_error(ErrorCode::ModelInvalid, std::move(text));
  }

  const Signature& signature_of(size_t step) const { return models_[step]->signatures()[0]; }

  Status add_outputs(size_t index) {
    PlannedStep& step = steps_.emplace_back();
    step.model = models_[index];
    step.text = "step " + std::to_string(index + 1) + " (model '" + step.model->spec().name +
                "', version " + step.model->version_text() + ")";
    step.is_queued = runs_in_queue(*step.model);
    if (step.model->is_absent()) return wrong(step.text + " is not loaded");
    if (step.model->loop() != nullptr) {
      return wrong(step.text + " has sequences, and the steps of an ensemble have no sequence_id");
    }
    for (const EnsembleLink& link : spec_.ensemble[index].outputs) {
      const int output = signature_of(index).find_output(link.name);
      if (output < 0) {
        return wrong(step.text + ": the model has no output '" + link.name + "', it has " +
                     names_of(signature_of(index).outputs));
      }
      const TensorSpec& made = signature_of(index).outputs[static_cast<size_t>(output)];
      const MadeTensor tensor{tensors_.size(), &made, step.text};
      const auto [at, is_new] = tensors_.emplace(link.tensor, tensor);
      if (!is_new) {
        return wrong(step.text + ": tensor '" + link.tensor + "' is also made by " +
                     at->second.maker);
      }
      step.outputs.push_back(static_cast<uint32_t>(output));
      step.made.push_back(tensor.number);
    }
    return {};
  }

  static std::string names_of(const std::vector<TensorSpec>& specs) {
    std::string text;
    for (const TensorSpec& spec : specs) text += (text.empty() ? "'" : ", '") + spec.name + "'";
    return text;
  }

  Status add_inputs(size_t index) {
    PlannedStep& step = steps_[index];
    const bool is_table = step.model->table() != nullptr;
    const Signature& signature = signature_of(index);
    if (!is_table) step.inputs.assign(signature.inputs.size(), kNoEnsembleTensor);
    for (const EnsembleLink& link : spec_.ensemble[index].inputs) {
      const auto found = tensors_.find(link.tensor);
      if (found == tensors_.end()) {
        return wrong(step.text + ": tensor '" + link.tensor +
                     "' is no input of the ensemble, and no step makes it");
      }
      if (is_table) {  // its codec converts, and checks each request
        step.inputs.push_back(found->second.number);
        step.names.push_back(link.name);
        continue;
      }
      const int input = signature.find_input(link.name);
      if (input < 0) {
        return wrong(step.text + ": the model has no input '" + link.name + "', it has " +
                     names_of(signature.inputs));
      }
      const TensorSpec& spec = signature.inputs[static_cast<size_t>(input)];
      Status fits = check_link(found->second, link.tensor, spec, step.text);
      if (!fits.ok()) return fits;
      if (found->second.spec->may_be_absent && !may_be_left_out(spec)) {
        return wrong(step.text + ": tensor '" + link.tensor + "' is optional, but the model's '" +
                     link.name + "' is not");
      }
      step.inputs[static_cast<size_t>(input)] = found->second.number;
    }
    for (size_t i = 0; i < signature.inputs.size() && !is_table; ++i) {
      const TensorSpec& input = signature.inputs[i];
      if (step.inputs[i] != kNoEnsembleTensor || may_be_left_out(input)) continue;
      return wrong(step.text + ": the model's input '" + input.name + "' is not connected");
    }
    return {};
  }

  static bool may_be_left_out(const TensorSpec& input) {
    return input.may_be_absent || input.default_value != nullptr;
  }

  // Moves the steps to the plan: each as soon as its tensors exist, otherwise in their order.
  Status sort(EnsemblePlan& plan) {
    std::vector<bool> exists(plan.tensors, false);
    for (size_t i = 0; i < spec_.ensemble_signature.inputs.size(); ++i) exists[i] = true;
    std::vector<bool> placed(steps_.size(), false);
    while (plan.steps.size() < steps_.size()) {
      const size_t before = plan.steps.size();
      for (size_t i = 0; i < steps_.size(); ++i) {
        const auto is_there = [&](size_t tensor) {
          return tensor == kNoEnsembleTensor || exists[tensor];
        };
        if (placed[i] || !std::ranges::all_of(steps_[i].inputs, is_there)) continue;
        placed[i] = true;
        for (const size_t tensor : steps_[i].made) exists[tensor] = true;
        plan.steps.push_back(std::move(steps_[i]));
      }
      if (plan.steps.size() != before) continue;
      std::string waiting;
      for (size_t i = 0; i < steps_.size(); ++i) {
        if (!placed[i]) waiting += (waiting.empty() ? "" : ", ") + steps_[i].text;
      }
      return wrong("these steps wait for each other: " + waiting);
    }
    return {};
  }

  const ModelSpec& spec_;
  const std::vector<std::shared_ptr<Model>>& models_;
  std::map<std::string, MadeTensor, std::less<>> tensors_;
  std::vector<PlannedStep> steps_;
};

}  // namespace

bool runs_in_queue(Model& model) {
  const BackendModelInfo& info = model.info();
  return model.batch_mode() == BatchMode::On || info.stateful || info.on_gpu ||
         model.spec().backend == kIsolatedBackend ||
         (model.services().turns != nullptr && model.services().turns->limits_rates());
}

Result<EnsemblePlan> plan_ensemble(const ModelSpec& spec,
                                   const std::vector<std::shared_ptr<Model>>& models) {
  return Planner(spec, models).plan();
}

}  // namespace serval
