// A stage's forest, which stages that explain it read too. Made at load, immutable; any thread.
#pragma once

#include <span>

#include "tabular/forest/features.h"
#include "tabular/forest/forest.h"

namespace serval::tabular {

struct SharedForest {
  SharedForest(StageSpec& spec, bool vector) : features(spec, vector) {}

  ForestFeatures features;
  Forest forest;
  // Leaf i has the values [i * width, (i + 1) * width); a weight for each tree, or none; `width`
  // numbers at which sums start, or none.
  std::span<const double> leaves, weights, base;
  size_t width = 1;
  stages::ForestSum sum = stages::ForestSum::Sum;
  bool skip = false;  // trees without a result are skipped

  size_t leaf_count() const { return leaves.size() / width; }
  double weight(size_t tree) const { return weights.empty() ? 1 : weights[tree]; }
};

// The kinds of explain.cc.
std::unique_ptr<Stage> make_forest_shap(StageSpec& spec);
std::unique_ptr<Stage> make_forest_trees(StageSpec& spec);

}  // namespace serval::tabular
