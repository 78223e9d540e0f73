// Generated forests of full trees, as attributes of a stage and as an ONNX graph of doubles. Test
// and bench time only. Source: ONNX's operator TreeEnsemble, ai.onnx.ml 5.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/onnx_writer.h"
#include "support/plan_build.h"

namespace serval {

class MadeForest {
 public:
  static constexpr uint32_t kFeatures = 30;

  MadeForest(int trees, int depth) {
    for (int tree = 0; tree < trees; ++tree) roots_.push_back(grow(depth));
  }

  // `rows` rows of features.
  std::vector<double> rows(size_t count) {
    std::vector<double> made(count * kFeatures);
    for (double& value : made) value = static_cast<double>(random_() % 100'000) / 100'000;
    return made;
  }

  // The sum of the trees' values, in their order.
  double sum(const double* row) const {
    double made = 0;
    for (const int32_t root : roots_) {
      int32_t at = root;
      while (at >= 0) {
        const auto node = static_cast<size_t>(at);
        at = row[feature_[node]] <= threshold_[node] ? left_[node] : right_[node];
      }
      made += leaves_[static_cast<size_t>(~at)];
    }
    return made;
  }

  // Attributes of a stage "forest" over one vector.
  tabular::MadeAttributes attributes() const {
    return {{"feature", feature_}, {"threshold", threshold_},
            {"left", left_},       {"right", right_},
            {"roots", roots_},     {"leaves", leaves_},
            {"width", 1},          {"sum", std::string("sum")},
            {"has_values", true},  {"skip_no_answer", false},
            {"vector", true},      {"has_leaf", false}};
  }

  // DOUBLE values [rows, kFeatures] -> answers [rows, 1].
  std::string graph() const {
    std::vector<int64_t> to[2], is_leaf[2];
    for (size_t side = 0; side < 2; ++side) {
      for (const int32_t next : side == 0 ? left_ : right_) {
        to[side].push_back(next < 0 ? ~next : next);
        is_leaf[side].push_back(next < 0 ? 1 : 0);
      }
    }
    const std::vector<uint8_t> modes(feature_.size(), 0);  // <=
    const std::vector<onnx::Message> attributes = {
        onnx::attribute("nodes_featureids", whole(feature_)),
        onnx::attribute("nodes_truenodeids", to[0]),
        onnx::attribute("nodes_falsenodeids", to[1]),
        onnx::attribute("nodes_trueleafs", is_leaf[0]),
        onnx::attribute("nodes_falseleafs", is_leaf[1]),
        onnx::attribute("tree_roots", whole(roots_)),
        onnx::attribute("leaf_targetids", std::vector<int64_t>(leaves_.size(), 0)),
        onnx::attribute("n_targets", int64_t{1}),
        onnx::attribute("aggregate_function", int64_t{1}),  // SUM
        onnx::attribute("post_transform", int64_t{0}),      // NONE
        tensor("nodes_splits", onnx::kDouble, threshold_),
        tensor("leaf_weights", onnx::kDouble, leaves_),
        tensor("nodes_modes", onnx::kUint8, modes)};
    onnx::Model model;
    model.domains = {{"ai.onnx.ml", 5}};
    model.node("TreeEnsemble", {"values"}, {"answers"}, attributes, "ai.onnx.ml");
    model.input("values", onnx::kDouble,
                std::vector<onnx::Dim>{std::string("rows"), int64_t{kFeatures}});
    model.output("answers", onnx::kDouble, std::vector<onnx::Dim>{std::string("rows"), int64_t{1}});
    return model.to_bytes();
  }

 private:
  int32_t grow(int depth) {
    if (depth == 0) {
      leaves_.push_back(static_cast<double>(random_() % 1000) / 7);
      return ~static_cast<int32_t>(leaves_.size() - 1);
    }
    const size_t at = feature_.size();
    feature_.push_back(static_cast<int32_t>(random_() % kFeatures));
    threshold_.push_back(static_cast<double>(random_() % 1000) / 1000);
    left_.push_back(0);
    right_.push_back(0);
    const int32_t to_left = grow(depth - 1), to_right = grow(depth - 1);
    left_[at] = to_left;
    right_[at] = to_right;
    return static_cast<int32_t>(at);
  }

  static std::vector<int64_t> whole(const std::vector<int32_t>& values) {
    return {values.begin(), values.end()};
  }

  template <typename T>
  static onnx::Message tensor(std::string_view name, int type, const std::vector<T>& values) {
    onnx::Message made;
    made.integer(1, static_cast<int64_t>(values.size())).integer(2, type);
    made.bytes(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
    return onnx::Message().bytes(1, name).message(5, made).varint(20, 4);
  }

  std::mt19937 random_{7};
  std::vector<int32_t> feature_, left_, right_, roots_;
  std::vector<double> threshold_, leaves_;
};

}  // namespace serval
