// Checked1 to Checked4: run before a node that crashes on some inputs, check the inputs that it
// depends on, and return their own last input, without a copy if the runtime gives both the same
// memory. Hot path, any thread.
#include "operators/guards/checked.h"

#include <cstring>
#include <utility>

#include "operators/groups.h"

namespace serval::operators {
namespace {

constexpr size_t kPlacesMax = 4;

// Attributes in addition to the guarded node's own: `serval_operator`, `serval_node`,
// `serval_places` (positions of the inputs in the guarded node) and `serval_inputs` (their names, a
// list of texts).
class Checked final : public Kernel {
 public:
  Checked(std::string node, std::vector<int64_t> places, std::vector<std::string> names,
          std::unique_ptr<GuardRule> rule)
      : node_(std::move(node)),
        places_(std::move(places)),
        names_(std::move(names)),
        rule_(std::move(rule)) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    TensorView views[kPlacesMax];
    // The second bound is for the compiler: Checked is never made with more places.
    for (size_t i = 0; i < places_.size() && i < kPlacesMax; ++i) views[i] = io.view(i);
    if (io.failed()) return io.take();
    const Complaint wrong = rule_->check(GuardedInputs(places_, {views, places_.size()}));
    if (!wrong.empty()) return invalid_argument(text_of(wrong, views));
    const TensorView& last = views[places_.size() - 1];
    if (last.dtype == DType::Invalid) {
      return internal_failure(node_ + ": an input of a type that can't be passed on");
    }
    if (last.dtype == DType::Bytes) {
      io.strings(0, last.shape, last.strings);
    } else {
      const std::span<uint8_t> out = io.raw_output(0, last.dtype, last.shape);
      const bool same = out.data() == last.data;
      if (!io.failed() && !same && !out.empty()) {
        std::memcpy(out.data(), last.data, out.size());
      }
    }
    return io.take();
  }

 private:
  // "TopK 'top': input 'x' of shape [0,3]: expected no dim of 0"
  std::string text_of(const Complaint& wrong, const TensorView* views) const {
    std::string text = node_ + ": ";
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] != wrong.place) continue;
      text += "input '" + names_[i] + "' of shape " + views[i].shape.to_string() + ": ";
    }
    return text + wrong.rule;
  }

  const std::string node_;
  const std::vector<int64_t> places_;
  const std::vector<std::string> names_;
  const std::unique_ptr<GuardRule> rule_;
};

Result<std::unique_ptr<Kernel>> make_checked(const KernelAttributes& attributes) {
  const std::string op = attributes.text("serval_operator", "");
  std::vector<int64_t> places = attributes.integers("serval_places");
  Result<std::vector<std::string>> names = attributes.texts("serval_inputs");
  if (!names.ok()) return std::move(names.error());
  if (places.empty() || places.size() > kPlacesMax || names.value().size() != places.size()) {
    return model_invalid(
        "Checked: 'serval_places' and 'serval_inputs' must be as long as each "
        "other, 1 to " +
        std::to_string(kPlacesMax));
  }
  Result<std::unique_ptr<GuardRule>> rule = make_guard_rule(op, attributes);
  if (!rule.ok()) return std::move(rule.error());
  if (rule.value() == nullptr) return model_invalid("Checked: no rule for " + op);
  const std::string node = op + " '" + attributes.text("serval_node", "") + "'";
  return std::unique_ptr<Kernel>(std::make_unique<Checked>(
      node, std::move(places), std::move(names.value()), std::move(rule.value())));
}

}  // namespace

std::vector<OperatorType> checked_operators() {
  constexpr auto kPasses = OperatorType::OutputType::PassesLastInput;
  constexpr Operand kAny;
  return {
      {"Checked1", {kAny}, {kAny}, make_checked, kPasses},
      {"Checked2", {kAny, kAny}, {kAny}, make_checked, kPasses},
      {"Checked3", {kAny, kAny, kAny}, {kAny}, make_checked, kPasses},
      {"Checked4", {kAny, kAny, kAny, kAny}, {kAny}, make_checked, kPasses},
  };
}

}  // namespace serval::operators
