// Stage kind pmml.anomaly: computes an AnomalyDetectionModel's score from its inner model's result.
// Hot path. Source: tabular.md 3.2.
#include <algorithm>
#include <cmath>

#include "tabular/pmml/models/inputs.h"
#include "tabular/pmml/models/kinds.h"

namespace serval::tabular::pmml {
namespace {

// Mean path length of an isolation tree over n instances: 2 H(n - 1) - 2 (n - 1) / n, with the
// harmonic number H(i) = ln(i) + Euler's constant, with as many digits as in the standard.
double mean_path(double n) {
  constexpr double kEuler = 0.57721566;
  if (n > 2) return 2 * (std::log(n - 1) + kEuler) - 2 * (n - 1) / n;
  return n == 2 ? 1 : 0;
}

// "iforest": of the mean path length. "clusterMeanDist": of the distances to all clusters, the
// winner's by the mean distance inside it.
class Anomaly final : public Stage {
 public:
  explicit Anomaly(StageSpec& spec)
      : input_(spec.inputs.empty() ? 0 : spec.inputs[0]),
        output_(spec.outputs.empty() ? 0 : spec.outputs[0]) {
    forest_ = spec.choice(stages::pmml_anomaly::algorithm) == stages::AnomalyAlgorithm::Iforest;
    if (forest_) {
      mean_path_ = mean_path(spec.real(stages::pmml_anomaly::sample_size));
      if (!(mean_path_ > 0)) spec.fail("the sample has fewer than two instances");
    } else {
      means_ = spec.reals(stages::pmml_anomaly::means);
      if (means_.empty()) spec.fail("there are no mean distances");
    }
  }

  Status run(Run& run, Rows rows) const override {
    Column& out = run.out(output_, Type::Double, rows);
    const Column& in = run.in(input_);
    if (forest_ ? storage_of(in.type) != Storage::Real || in.type == Type::Vector
                : in.type != Type::Vector) {
      return make_error(ErrorCode::BackendFailed, "an anomaly score of a column of another type");
    }
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (in.state(row) == State::Missing) {
        out.set_missing(row);
      } else if (forest_) {
        out.reals[row] = std::pow(2.0, -in.reals[row] / mean_path_);
      } else {
        const std::span<const double> distances = in.row_reals(row);
        if (distances.size() != means_.size()) {
          return make_error(ErrorCode::BackendFailed, "a distance of each cluster is expected");
        }
        const auto winner = std::min_element(distances.begin(), distances.end());
        out.reals[row] = *winner / means_[static_cast<size_t>(winner - distances.begin())];
      }
    }
    return {};
  }

 private:
  uint32_t input_, output_;
  bool forest_ = false;
  double mean_path_ = 1;
  std::span<const double> means_;
};

}  // namespace

std::unique_ptr<Stage> make_anomaly(StageSpec& spec) {
  spec.expect_inputs(1, 1);
  spec.expect_outputs(1, 1);
  return std::make_unique<Anomaly>(spec);
}

}  // namespace serval::tabular::pmml
