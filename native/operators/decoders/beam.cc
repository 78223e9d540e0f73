// CTCBeamSearchDecoder: the most likely label sequences of a batch. Hot path, any thread.
// Source: tensorflow/core/kernels/ctc_decoder_ops.cc.
#include "operators/decoders/beam.h"

#include "operators/groups.h"

namespace serval::operators {
namespace {

constexpr size_t kPathsMax = 65'536;

// Inputs: scores (float or double), lengths (int32). Outputs: indices of each path, then values of
// each, then shapes of each; the scores of the paths [rows, paths]. Attributes: `beam_width`,
// `top_paths`, `merge_repeated`.
class BeamDecoder final : public Kernel {
 public:
  BeamDecoder(size_t width, size_t top, bool merges) : width_(width), top_(top), merges_(merges) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const DType dtype = io.view(0).dtype;
    if (io.failed()) return io.take();
    if (context.output_count() < 3 * top_ + 1) {
      return internal_failure("CTCBeamSearchDecoder: expected " + std::to_string(3 * top_ + 1) +
                              " outputs, got " + std::to_string(context.output_count()));
    }
    if (dtype == DType::Fp64) return decode<double>(context, io);
    return decode<float>(context, io);
  }

 private:
  template <typename T>
  Status decode(KernelContext& context, KernelIo& io) const {
    const Scores<T> scores = read_scores<T>(io);
    if (io.failed()) return io.take();
    const Shape shape = shape_of({static_cast<int64_t>(scores.rows), static_cast<int64_t>(top_)});
    const std::span<T> chances = io.output<T>(3 * top_, shape);
    if (io.failed()) return io.take();
    std::vector<std::vector<Labels>> paths(scores.rows);
    std::vector<Status> failures(scores.rows);
    Status status = context.parallel(scores.rows, [&](size_t row) {
      failures[row] = decode_row(scores, row, paths[row], chances.subspan(row * top_, top_));
    });
    if (!status.ok()) return status;
    uint64_t labels = 0;
    for (size_t row = 0; row < scores.rows; ++row) {
      if (!failures[row].ok()) return std::move(failures[row]);
      for (const Labels& path : paths[row]) labels += path.size();
    }
    if (!io.require(labels <= kRowsMax, "CTCBeamSearchDecoder: too many labels")) return io.take();
    write_paths(io, paths, top_);
    return io.take();
  }

  template <typename T>
  Status decode_row(const Scores<T>& scores, size_t row, std::vector<Labels>& paths,
                    std::span<T> chances) const {
    BeamSearch<T> search(width_, scores.classes);
    for (int32_t time = 0; time < scores.lengths[row]; ++time) {
      if (!search.step(scores.at(static_cast<size_t>(time), row))) {
        return invalid_argument("sequence " + std::to_string(row) +
                                ": its search keeps more than " + std::to_string(kBeginningsMax) +
                                " beginnings of paths");
      }
    }
    return search.best_paths(top_, merges_, paths, chances);
  }

  const size_t width_, top_;
  const bool merges_;
};

Result<std::unique_ptr<Kernel>> make_beam(const KernelAttributes& attributes) {
  const int64_t width = attributes.integer("beam_width", 0);
  const int64_t top = attributes.integer("top_paths", 0);
  if (width < 1) return model_invalid("attribute 'beam_width': expected at least 1");
  if (top < 1 || top > static_cast<int64_t>(kPathsMax)) {
    return model_invalid("attribute 'top_paths': expected 1 to " + std::to_string(kPathsMax) +
                         ", got " + std::to_string(top));
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<BeamDecoder>(static_cast<size_t>(width), static_cast<size_t>(top),
                                    attributes.integer("merge_repeated", 0) != 0));
}

}  // namespace

std::vector<OperatorType> beam_decoder_operators() {
  const Operand any{}, list{DType::Invalid, Operand::Form::Variadic};
  return {{"CTCBeamSearchDecoder", {any, Operand{DType::Int32}}, {list}, make_beam}};
}

}  // namespace serval::operators
