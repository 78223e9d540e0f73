// Latent Dirichlet allocation: lda. Hot path; any thread. Source: tabular.md 5
#include <algorithm>
#include <cmath>

#include "tabular/features/columns.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

// Logarithmic derivative of the gamma function, computed like Commons Math (to about 1e-8).
double digamma(double x) {
  if (x > 0 && x <= 1e-5) return -0.577215664901532860606512090082 - 1 / x;
  if (!(x < 49)) {
    const double inverse = 1 / (x * x);
    return std::log(x) - 0.5 / x - inverse * (1.0 / 12 + inverse * (1.0 / 120 - inverse / 252));
  }
  return digamma(x + 1) - 1 / x;
}

// Word counts -> distribution over topics, by variational inference from the same start each time.
class Lda final : public VectorStage {
 public:
  explicit Lda(StageSpec& spec)
      : VectorStage(spec, false),
        start_(spec.reals(stages::lda::start)),
        concentration_(spec.reals(stages::lda::concentration)),
        words_(spec.reals(stages::lda::words)) {
    const size_t k = start_.size();
    if (k == 0 || concentration_.size() != k || words_.size() % k != 0) {
      spec.fail("expected a start, a concentration and the words' likelihoods of each topic");
      return;
    }
    vocabulary_ = words_.size() / k;
    // Negative parameters are refused: with negative numbers digamma would not terminate.
    const auto below = [](double one) { return !(one >= 0); };
    if (std::any_of(start_.begin(), start_.end(), below) ||
        std::any_of(concentration_.begin(), concentration_.end(), below) ||
        std::any_of(words_.begin(), words_.end(), below)) {
      spec.fail("expected numbers of 0 or more");
    }
  }

 private:
  static constexpr int kRoundsMax = 100000;
  static constexpr double kEnough = 1e-3;  // mean change of a round that is the last one

  struct Room {
    std::vector<double> gamma, theta, counts, norms, sums;
    std::vector<size_t> ids;
  };

  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    std::string fault = wrong_size(vocabulary_, in);
    if (!fault.empty()) return fault;
    thread_local Room room;
    room.ids.clear();
    room.counts.clear();
    in.for_each([](size_t id, double count) {
      if (count == 0) return;
      room.ids.push_back(id);
      room.counts.push_back(count);
    });
    size = start_.size();
    double* answer = append_dense(out, size);
    if (room.ids.empty()) return {};
    for (const double count : room.counts) {
      if (!(count > 0) || std::isinf(count)) return "column '" + names_[0] + "': not a word count";
    }
    if (!infer(room)) return "column '" + names_[0] + "': the estimate does not converge";
    double sum = 0;
    for (const double one : room.gamma) sum += std::abs(one);
    for (size_t k = 0; k < size; ++k) answer[k] = room.gamma[k] / sum;
    return {};
  }

  bool infer(Room& room) const {
    const size_t topics = start_.size();
    room.gamma.assign(start_.begin(), start_.end());
    expect(room);
    for (int round = 0; round < kRoundsMax; ++round) {
      room.sums.assign(topics, 0);
      for (size_t i = 0; i < room.ids.size(); ++i) {
        const double* word = words_.data() + room.ids[i] * topics;
        const double share = room.counts[i] / room.norms[i];
        for (size_t k = 0; k < topics; ++k) room.sums[k] += word[k] * share;
      }
      double change = 0;
      for (size_t k = 0; k < topics; ++k) {
        const double next = room.theta[k] * room.sums[k] + concentration_[k];
        change += std::abs(next - room.gamma[k]);
        room.gamma[k] = next;
      }
      if (!(change / static_cast<double>(topics) > kEnough)) return true;
      expect(room);
    }
    return false;
  }

  // theta = exp(E[log theta]) of gamma, and each word's likelihood under it.
  void expect(Room& room) const {
    const size_t topics = start_.size();
    double sum = 0;
    for (const double one : room.gamma) sum += one;
    const double of_sum = digamma(sum);
    room.theta.clear();
    for (const double one : room.gamma) room.theta.push_back(std::exp(digamma(one) - of_sum));
    room.norms.clear();
    for (const size_t id : room.ids) {
      const double* word = words_.data() + id * topics;
      double norm = 0;
      for (size_t k = 0; k < topics; ++k) norm += word[k] * room.theta[k];
      room.norms.push_back(norm + 1e-100);
    }
  }

  std::span<const double> start_, concentration_, words_;
  size_t vocabulary_ = 0;
};

constexpr StageKind kTopicsKinds[] = {{stages::lda::kind, make_stage<Lda>}};

}  // namespace

std::span<const StageKind> topic_kinds() { return kTopicsKinds; }

}  // namespace serval::tabular
