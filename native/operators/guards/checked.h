// The checks of a guard for one node: the rules for checked.cc, by operator. Hot path, any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "operators/kernel_io.h"
#include "operators/operator.h"

namespace serval::operators {

// The guarded node's inputs, by their position in it; an absent one has dtype Invalid.
class GuardedInputs {
 public:
  GuardedInputs(std::span<const int64_t> places, std::span<const TensorView> views)
      : places_(places), views_(views) {}
  const TensorView& at(int64_t place) const {
    static const TensorView absent;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] == place) return views_[i];
    }
    return absent;
  }
  bool has(int64_t place) const { return at(place).dtype != DType::Invalid; }

 private:
  const std::span<const int64_t> places_;
  const std::span<const TensorView> views_;
};

// A fault of a node's inputs: which input, and the rest of the sentence. Empty: none.
struct Complaint {
  int64_t place = 0;
  std::string rule;
  bool empty() const { return rule.empty(); }
};

// One operator's rule, with the node's attributes already read.
class GuardRule {
 public:
  virtual ~GuardRule() = default;
  virtual Complaint check(const GuardedInputs& inputs) const = 0;
};

// Null for an operator without a rule. Errors: model_invalid, if an attribute is refused.
Result<std::unique_ptr<GuardRule>> make_guard_rule(std::string_view op,
                                                   const KernelAttributes& attributes);

}  // namespace serval::operators
