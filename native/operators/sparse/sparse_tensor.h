// Helpers shared by operators on sparse tensors: checked indices and the simplest form of a kernel.
// Hot path, any thread.
#pragma once

#include <string>
#include <vector>

#include "operators/kernel_io.h"

namespace serval::operators {

// A kernel without attributes, or with one integer attribute.
template <Status (*kRun)(KernelContext&)>
class PlainKernel final : public Kernel {
 public:
  Status run(KernelContext& context) const override { return kRun(context); }
};
template <Status (*kRun)(KernelContext&)>
Result<std::unique_ptr<Kernel>> make_plain(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<PlainKernel<kRun>>());
}

// A sparse tensor's indices [n, rank] and its dense shape. Indices may be out of range.
struct SparsePlaces {
  std::span<const int64_t> indices;
  std::span<const int64_t> dims;
  size_t count = 0;
  size_t rank() const { return dims.size(); }
  std::span<const int64_t> at(size_t i) const { return indices.subspan(i * rank(), rank()); }
};

// Reads and checks ranks and counts. Errors: invalid_argument through `ports`.
SparsePlaces read_places(KernelIo& io, size_t indices, size_t dims, std::string_view op);

// Refuses an index outside the dims.
bool check_places(KernelIo& io, const SparsePlaces& places);

// "[1,2]"
std::string list_text(std::span<const int64_t> values);

// Converts a vector to a shape. Errors: invalid_argument for negative dims, an overflow, or a rank
// over kRankMax.
bool to_shape(KernelIo& io, std::span<const int64_t> dims, Shape& shape);

}  // namespace serval::operators
