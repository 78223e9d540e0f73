// Helpers shared by the strict operators: error texts with numbers in them, kernels without state.
// Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/tensor.h"
#include "operators/operator.h"

namespace serval::operators {

// A text in which "{name}" is a placeholder for a number or a position.
class FilledText {
 public:
  explicit FilledText(std::string text) : text_(std::move(text)) {}
  FilledText& with(std::string_view name, std::string_view value) {
    const std::string mark = "{" + std::string(name) + "}";
    for (size_t at = text_.find(mark); at != std::string::npos;
         at = text_.find(mark, at + value.size())) {
      text_.replace(at, mark.size(), value);
    }
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// "[1,2]": the position of element `flat` in a tensor of `rank` leading dims of `shape`; "" for
// rank 0.
inline std::string place_text(const Shape& shape, size_t rank, size_t flat) {
  std::string text;
  for (size_t axis = rank; axis-- > 0;) {
    const size_t dim = static_cast<size_t>(shape[axis]);
    if (!text.empty()) text.insert(0, ",");
    text.insert(0, std::to_string(flat % dim));
    flat /= dim;
  }
  return rank == 0 ? text : "[" + text + "]";
}

// The kernel of an operator without state.
template <Status (*kRun)(KernelContext&)>
Result<std::unique_ptr<Kernel>> make_function(const KernelAttributes&) {
  class Plain final : public Kernel {
   public:
    Status run(KernelContext& context) const override { return kRun(context); }
  };
  return std::unique_ptr<Kernel>(std::make_unique<Plain>());
}

// The kernel of an operator that reads its attributes itself.
template <typename T>
Result<std::unique_ptr<Kernel>> make_class(const KernelAttributes& attributes) {
  return std::unique_ptr<Kernel>(std::make_unique<T>(attributes));
}

}  // namespace serval::operators
