// What a guard says of one node: the rules of checked.cc by operator. Hot path, any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "operators/kernel_io.h"
#include "operators/operator.h"

namespace serval::operators {

// The guarded node's inputs, by their place in it; one that is absent has dtype Invalid.
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

// What is wrong with a node's inputs: which of them, and the rest of the sentence. Empty: nothing.
struct Complaint {
  int64_t place = 0;
  std::string rule;
  bool empty() const { return rule.empty(); }
};

// One operator's rule, with the node's attributes read.
class GuardRule {
 public:
  virtual ~GuardRule() = default;
  virtual Complaint check(const GuardedInputs& inputs) const = 0;
};

// Null for an operator without a rule. Errors: model_invalid, where an attribute is refused.
Result<std::unique_ptr<GuardRule>> make_guard_rule(std::string_view op,
                                                   const KernelAttributes& attributes);

}  // namespace serval::operators
