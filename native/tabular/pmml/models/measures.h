// Comparison of rows with clusters and training instances. Hot path. Source: tabular.md 3.2; the
// formulas are those of the PMML standard's page on cluster models.
#pragma once

#include <span>
#include <vector>

#include "tabular/pmml/models/inputs.h"

namespace serval::tabular::pmml {

// A comparison measure with its fields: the attributes of stages::pmml_comparison.
class Measure {
 public:
  // Records in `spec` what does not fit; `fields` is the number of fields.
  Measure(StageSpec& spec, size_t fields);

  // Whether a larger value means nearer.
  bool similarity() const { return kind_ >= Kind::SimpleMatching; }
  // Factor for sums if values are missing (absent_number); not finite if all are missing.
  double adjustment(std::span<const double> x) const;
  // Compares a row with a reference; neither has missing values. For a similarity both contain only
  // 0 and 1, and NaN means undefined.
  double compare(std::span<const double> x, std::span<const double> reference,
                 double adjustment) const;
  // The first field that is neither 0 nor 1; x.size() if there is none.
  static size_t first_not_binary(std::span<const double> x);

 private:
  using Kind = stages::Measure;
  using Function = stages::CompareFunction;
  struct Field {
    Function function;
    double weight, scale, missing_weight;
  };

  void read_kind(StageSpec& spec);
  double distance(std::span<const double> x, std::span<const double> reference,
                  double adjustment) const;
  double similarity_of(std::span<const double> x, std::span<const double> reference) const;
  double field_distance(const Field& field, double x, double reference) const;

  Kind kind_ = Kind::Euclidean;
  double p_ = 2;
  std::vector<double> parameters_;
  std::vector<Field> fields_;
};

}  // namespace serval::tabular::pmml
