// CTCGreedyDecoder: the best class of each time step. Hot path, any thread.
// Source: tensorflow/core/kernels/ctc_decoder_ops.cc.
#include "operators/decoders/paths.h"
#include "operators/groups.h"

namespace serval::operators {
namespace {

// Inputs: scores (float or double), lengths (int32). Outputs: indices, values, shape, the negated
// sum of the best scores [rows, 1]. Attributes: `merge_repeated`, `blank_index` (negative: from the
// end).
class GreedyDecoder final : public Kernel {
 public:
  GreedyDecoder(bool merges, int64_t blank) : merges_(merges), blank_(blank) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const DType dtype = io.view(0).dtype;
    if (io.failed()) return io.take();
    if (dtype == DType::Fp64) return decode<double>(context, io);
    return decode<float>(context, io);
  }

 private:
  template <typename T>
  Status decode(KernelContext& context, KernelIo& io) const {
    const Scores<T> scores = read_scores<T>(io);
    if (io.failed()) return io.take();
    const int64_t classes = static_cast<int64_t>(scores.classes);
    const int64_t blank = blank_ < 0 ? classes + blank_ : blank_;
    io.require(blank >= 0 && blank < classes,
               "blank_index expected to be between " + std::to_string(-classes) + " and " +
                   std::to_string(classes - 1) + " but was " + std::to_string(blank_));
    const std::span<T> sums = io.output<T>(3, shape_of({static_cast<int64_t>(scores.rows), 1}));
    if (io.failed()) return io.take();
    std::vector<std::vector<Labels>> paths(scores.rows, std::vector<Labels>(1));
    Status status = context.parallel(scores.rows, [&](size_t row) {
      sums[row] = decode_row(scores, row, blank, paths[row][0]);
    });
    if (!status.ok()) return status;
    write_paths(io, paths, 1);
    return io.take();
  }

  template <typename T>
  T decode_row(const Scores<T>& scores, size_t row, int64_t blank, Labels& labels) const {
    T sum = 0;
    int64_t last = -1;
    for (int32_t time = 0; time < scores.lengths[row]; ++time) {
      const std::span<const T> given = scores.at(static_cast<size_t>(time), row);
      size_t best = 0;
      for (size_t label = 1; label < given.size(); ++label) {
        if (given[label] > given[best]) best = label;
      }
      sum += -given[best];
      const int64_t label = static_cast<int64_t>(best);
      if (label != blank && !(merges_ && label == last)) labels.push_back(label);
      last = label;
    }
    return sum;
  }

  const bool merges_;
  const int64_t blank_;
};

Result<std::unique_ptr<Kernel>> make_greedy(const KernelAttributes& attributes) {
  return std::unique_ptr<Kernel>(std::make_unique<GreedyDecoder>(
      attributes.integer("merge_repeated", 0) != 0, attributes.integer("blank_index", -1)));
}

}  // namespace

std::vector<OperatorType> greedy_decoder_operators() {
  const Operand any{}, integers{DType::Int64};
  return {{"CTCGreedyDecoder",
           {any, Operand{DType::Int32}},
           {integers, integers, integers, any},
           make_greedy}};
}

}  // namespace serval::operators
