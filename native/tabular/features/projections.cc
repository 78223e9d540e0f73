// Kinds that project vectors: dct, pca, random_projection_lsh, min_hash_lsh. Hot path; any
// thread. Source: tabular.md 5.3
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/limits.h"
#include "tabular/dense/stage.h"
#include "tabular/features/kinds.h"

namespace serval::tabular {
namespace {

// Discrete cosine transform, orthonormal: from its definition, whose cosines come from a table.
class Dct final : public VectorStage {
 public:
  explicit Dct(StageSpec& spec)
      : VectorStage(spec, false), inverse_(spec.flag(stages::dct::inverse)) {}

 private:
  // cos(pi i / (2 n)) for i below 4 n; kept from row to row.
  static const std::vector<double>& cosines(size_t n) {
    thread_local std::vector<double> table;
    if (table.size() == 4 * n) return table;
    table.resize(4 * n);
    for (size_t i = 0; i < table.size(); ++i) {
      table[i] = std::cos(std::numbers::pi * static_cast<double>(i) / static_cast<double>(2 * n));
    }
    table[n] = table[3 * n] = 0;
    return table;
  }

  std::string answer(const VectorRow& in, Column& out, size_t&) const override {
    const size_t n = in.size;
    if (n == 0) return {};
    if (n > kCosineTransformMax) {
      return "column '" + names_[0] + "': a vector of " + std::to_string(n) +
             " values, more than " + std::to_string(kCosineTransformMax);
    }
    const std::vector<double>& table = cosines(n);
    double* values = append_dense(out, n);
    const double first = std::sqrt(1.0 / static_cast<double>(n));
    const double other = std::sqrt(2.0 / static_cast<double>(n));
    for (size_t k = 0; k < n; ++k) {
      double sum = 0;
      in.for_each([&](size_t i, double value) {
        const size_t angle = inverse_ ? (2 * k + 1) * i : (2 * i + 1) * k;
        const double scale = inverse_ ? (i == 0 ? first : other) : 1;
        sum += value * scale * table[angle % (4 * n)];
      });
      values[k] = inverse_ ? sum : sum * (k == 0 ? first : other);
    }
    return {};
  }

  bool inverse_;
};

// Rows of a matrix times the vector.
class Rowwise : public DenseStage {
 protected:
  Rowwise(StageSpec& spec, const RealsAttribute& values, const IntegerAttribute& count,
          bool has_steps = false)
      : DenseStage(spec) {
    const auto matrix = spec.reals(values);
    const int32_t rows = spec.integer(count);
    if (rows < 1 || matrix.size() % static_cast<size_t>(rows) != 0) {
      spec.fail("expected a matrix of " + std::to_string(rows) + " rows");
      return;
    }
    const auto outputs = static_cast<size_t>(rows);
    by_input_ = transposed(matrix, outputs);
    use(spec, {{matrix.size() / outputs, outputs, by_input_, {}}}, outputs, has_steps);
  }

 private:
  std::vector<double> by_input_;
};

class Pca final : public Rowwise {
 public:
  explicit Pca(StageSpec& spec) : Rowwise(spec, stages::pca::components, stages::pca::k) {}
};

class RandomProjection final : public Rowwise {
 public:
  explicit RandomProjection(StageSpec& spec)
      : Rowwise(spec, stages::random_projection_lsh::vectors, stages::random_projection_lsh::tables,
                true),
        length_(spec.real(stages::random_projection_lsh::bucketLength)),
        divide_(spec.flag(stages::random_projection_lsh::divide)) {
    if (!(length_ > 0)) spec.fail("expected a bucket length above 0");
  }

 private:
  void finish(std::span<double> sums) const override {
    for (double& sum : sums) sum = std::floor(divide_ ? sum / length_ : sum * (1 / length_));
  }
  double length_;
  bool divide_;
};

class MinHash final : public VectorStage {
 public:
  explicit MinHash(StageSpec& spec)
      : VectorStage(spec, false),
        a_(spec.integers(stages::min_hash_lsh::a)),
        b_(spec.integers(stages::min_hash_lsh::b)) {
    if (a_.size() != b_.size() || a_.empty()) spec.fail("expected equal counts of a and b");
  }

 private:
  static constexpr int64_t kPrime = 2038074743;

  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    size = a_.size();
    bool any = false;
    double* least = append_dense(out, size);
    std::fill(least, least + size, static_cast<double>(kPrime));
    in.for_each([&](size_t index, double value) {
      if (value == 0) return;
      any = true;
      for (size_t k = 0; k < size; ++k) {
        const int64_t hash = ((1 + static_cast<int64_t>(index)) * a_[k] + b_[k]) % kPrime;
        least[k] = std::min(least[k], static_cast<double>(hash));
      }
    });
    return any ? std::string()
               : "column '" + names_[0] + "': expected a vector with a value other than 0";
  }

  std::span<const int32_t> a_, b_;
};

constexpr StageKind kProjectionsKinds[] = {
    {stages::dct::kind, make_stage<Dct>},
    {stages::pca::kind, make_stage<Pca>},
    {stages::random_projection_lsh::kind, make_stage<RandomProjection>},
    {stages::min_hash_lsh::kind, make_stage<MinHash>},
};

}  // namespace

std::span<const StageKind> project_kinds() { return kProjectionsKinds; }

}  // namespace serval::tabular
