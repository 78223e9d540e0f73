// BoostedTreesPredict and BoostedTreesBucketize: the sums of the estimators' boosted trees, and the
// buckets that their splits use. Hot path, any thread.
// Source: tensorflow/core/kernels/boosted_trees/{prediction_ops,quantile_ops}.cc (2.8).
#include <limits>
#include <utility>

#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

// Rows per task.
constexpr size_t kTaskRows = 256;

// A node: a leaf, or the choice between two nodes of its tree. Nodes are numbered over all trees.
struct TreeNode {
  enum class Kind : uint8_t { Leaf, AtMost, Equal };
  Kind kind = Kind::Leaf;
  uint32_t feature = 0, dimension = 0;
  int32_t value = 0;
  uint32_t left = 0, right = 0;
  uint32_t leaf = 0;  // start of its values
};

struct Tree {
  uint32_t root = 0;
  float weight = 0;
};

struct Forest {
  std::vector<Tree> trees;
  std::vector<TreeNode> nodes;
  std::vector<float> leaves;  // `width` values per leaf
  size_t width = 1;
  std::vector<uint32_t> dimensions;  // per feature: the number of dimensions used
};

// The attributes; some have an element for each node of each tree.
struct ForestLists {
  std::vector<int64_t> kinds, features, dimensions, values, lefts, rights, sizes;
  std::vector<float> weights, leaves;
};

// Adds one tree's nodes, [first, first + size) of the lists. Returns the error, or "".
std::string add_tree(Forest& forest, const ForestLists& lists, size_t first, size_t size,
                     size_t& leaves) {
  const auto within = [&](const std::vector<int64_t>& list, size_t i, int64_t limit) {
    return list[i] >= 0 && list[i] < limit;
  };
  for (size_t i = first; i < first + size; ++i) {
    TreeNode node;
    if (!within(lists.kinds, i, 3)) return "is of an unknown kind";
    node.kind = static_cast<TreeNode::Kind>(lists.kinds[i]);
    if (node.kind == TreeNode::Kind::Leaf) {
      node.leaf = static_cast<uint32_t>(leaves++ * forest.width);
      forest.nodes.push_back(node);
      continue;
    }
    constexpr int64_t kFeaturesMax = 1 << 20;
    if (!within(lists.features, i, kFeaturesMax)) return "asks for a feature out of range";
    if (!within(lists.dimensions, i, kFeaturesMax)) return "asks for a dimension out of range";
    if (!std::in_range<int32_t>(lists.values[i])) return "splits at a number out of range";
    const int64_t end = static_cast<int64_t>(size);
    if (!within(lists.lefts, i, end) || !within(lists.rights, i, end)) {
      return "leads to a node that its tree has not";
    }
    node.feature = static_cast<uint32_t>(lists.features[i]);
    node.dimension = static_cast<uint32_t>(lists.dimensions[i]);
    node.value = static_cast<int32_t>(lists.values[i]);
    node.left = static_cast<uint32_t>(first + static_cast<size_t>(lists.lefts[i]));
    node.right = static_cast<uint32_t>(first + static_cast<size_t>(lists.rights[i]));
    if (forest.dimensions.size() <= node.feature) forest.dimensions.resize(node.feature + 1);
    uint32_t& asked = forest.dimensions[node.feature];
    asked = std::max(asked, node.dimension + 1);
    forest.nodes.push_back(node);
  }
  return {};
}

// Whether every node reachable from the root is reached exactly once: then every walk ends at a
// leaf.
bool is_tree(const Forest& forest, size_t first, size_t size) {
  std::vector<bool> seen(size);
  std::vector<uint32_t> open = {static_cast<uint32_t>(first)};
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (seen[at - first]) return false;
    seen[at - first] = true;
    const TreeNode& node = forest.nodes[at];
    if (node.kind == TreeNode::Kind::Leaf) continue;
    open.push_back(node.left);
    open.push_back(node.right);
  }
  return true;
}

Result<Forest> make_forest(const ForestLists& lists, size_t width) {
  const size_t count = lists.kinds.size();
  for (const auto* list :
       {&lists.features, &lists.dimensions, &lists.values, &lists.lefts, &lists.rights}) {
    if (list->size() != count) return model_invalid("expected one attribute of each node");
  }
  if (lists.weights.size() != lists.sizes.size()) {
    return model_invalid("expected one weight of each tree");
  }
  if (!std::in_range<uint32_t>(count) || !std::in_range<uint32_t>(lists.leaves.size())) {
    return model_invalid("too many nodes");
  }
  Forest forest;
  forest.width = width;
  forest.leaves = lists.leaves;
  size_t first = 0, leaves = 0;
  for (size_t tree = 0; tree < lists.sizes.size(); ++tree) {
    const std::string name = "tree " + std::to_string(tree);
    const int64_t size = lists.sizes[tree];
    if (size < 1 || static_cast<uint64_t>(size) > count - first) {
      return model_invalid(name + ": its nodes are not there");
    }
    const std::string wrong = add_tree(forest, lists, first, static_cast<size_t>(size), leaves);
    if (!wrong.empty()) {
      return model_invalid(name + ": node " + std::to_string(forest.nodes.size() - first) + " " +
                           wrong);
    }
    if (!is_tree(forest, first, static_cast<size_t>(size))) {
      return model_invalid(name + ": two of its nodes lead to one");
    }
    forest.trees.push_back({static_cast<uint32_t>(first), lists.weights[tree]});
    first += static_cast<size_t>(size);
  }
  if (first != count) return model_invalid("nodes that belong to no tree");
  if (leaves * width != lists.leaves.size()) return model_invalid("expected values of each leaf");
  return forest;
}

// A feature's buckets, row by row.
struct Buckets {
  std::span<const int32_t> values;
  size_t dimensions = 1;
};

// Inputs: features, int32 [rows] or [rows, dimensions]. Output: float [rows, logits_dimension].
// Attributes: `logits_dimension`; per tree `tree_sizes`, `tree_weights`; per node `kinds` (0: a
// leaf, 1: left if the feature is at most the value, 2: if it equals the value), `features`,
// `dimensions`, `values`, `lefts`, `rights`; `leaves`, the values of each leaf.
class Predict final : public Kernel {
 public:
  explicit Predict(Forest forest) : forest_(std::move(forest)) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    size_t rows = 0;
    const std::vector<Buckets> features = read_features(io, rows);
    const Shape shape = shape_of({static_cast<int64_t>(rows), static_cast<int64_t>(forest_.width)});
    const std::span<float> out = io.output<float>(0, shape);
    if (io.failed() || rows == 0) return io.take();
    return context.parallel((rows - 1) / kTaskRows + 1, [&](size_t task) {
      const size_t end = std::min(rows, (task + 1) * kTaskRows);
      for (size_t row = task * kTaskRows; row < end; ++row) {
        sum(features, row, out.subspan(row * forest_.width, forest_.width));
      }
    });
  }

 private:
  std::vector<Buckets> read_features(KernelIo& io, size_t& rows) const {
    std::vector<Buckets> features(io.input_count());
    io.require(!features.empty() && forest_.dimensions.size() <= features.size(),
               "BoostedTreesPredict: the trees ask for " +
                   std::to_string(std::max<size_t>(forest_.dimensions.size(), 1)) +
                   " features, got " + std::to_string(features.size()));
    for (size_t i = 0; i < features.size() && !io.failed(); ++i) {
      const TensorView view = io.view(i);
      const size_t rank = view.shape.rank();
      if (!io.require(rank == 1 || rank == 2,
                      "Cannot use tensor as matrix, expected vector or "
                      "matrix, received shape " +
                          view.shape.to_string())) {
        break;
      }
      const size_t given = static_cast<size_t>(view.shape[0]);
      if (i == 0) rows = given;
      features[i].dimensions = rank == 1 ? 1 : static_cast<size_t>(view.shape[1]);
      features[i].values = io.elements<int32_t>(view);
      const size_t asked = i < forest_.dimensions.size() ? forest_.dimensions[i] : 0;
      io.require(given == rows, "BoostedTreesPredict: feature " + std::to_string(i) +
                                    ": expected " + std::to_string(rows) +
                                    " rows as feature 0 has, got " + std::to_string(given));
      io.require(rows == 0 || features[i].dimensions >= asked,
                 "BoostedTreesPredict: feature " + std::to_string(i) + ": the trees ask for " +
                     std::to_string(asked) + " dimensions, got " +
                     std::to_string(features[i].dimensions));
    }
    return features;
  }

  // Adds tree by tree in single precision, as TensorFlow does.
  void sum(const std::vector<Buckets>& features, size_t row, std::span<float> out) const {
    std::fill(out.begin(), out.end(), 0.0F);
    for (const Tree& tree : forest_.trees) {
      const TreeNode* node = &forest_.nodes[tree.root];
      while (node->kind != TreeNode::Kind::Leaf) {
        const Buckets& feature = features[node->feature];
        const int32_t bucket = feature.values[row * feature.dimensions + node->dimension];
        const bool left =
            node->kind == TreeNode::Kind::AtMost ? bucket <= node->value : bucket == node->value;
        node = &forest_.nodes[left ? node->left : node->right];
      }
      for (size_t i = 0; i < out.size(); ++i)
        out[i] += tree.weight * forest_.leaves[node->leaf + i];
    }
  }

  const Forest forest_;
};

Result<std::unique_ptr<Kernel>> make_predict(const KernelAttributes& attributes) {
  const int64_t width = attributes.integer("logits_dimension", 1);
  if (width < 1 || width > 65'536) {
    return model_invalid("attribute 'logits_dimension': out of range");
  }
  const ForestLists lists = {
      attributes.integers("kinds"),      attributes.integers("features"),
      attributes.integers("dimensions"), attributes.integers("values"),
      attributes.integers("lefts"),      attributes.integers("rights"),
      attributes.integers("tree_sizes"), attributes.reals("tree_weights"),
      attributes.reals("leaves"),
  };
  Result<Forest> forest = make_forest(lists, static_cast<size_t>(width));
  if (!forest.ok()) return std::move(forest.error());
  return std::unique_ptr<Kernel>(std::make_unique<Predict>(std::move(forest.value())));
}

// Inputs: float values of rank 1 or more, float boundaries in ascending order. Output: int32
// [rows], for each row's value the first boundary that is not below it, or the last one. As in
// TensorFlow, of wider rows only as many values count as there are rows.
class BucketizeFeature final : public Kernel {
 public:
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView view = io.view(0);
    io.require(view.shape.rank() > 0, "BoostedTreesBucketize: expected values of rank 1, got 0");
    io.require(io.view(1).shape.rank() == 1, "Buckets should be flat vectors.");
    if (io.failed()) return io.take();
    const std::span<const float> values = io.elements<float>(view);
    const std::span<const float> boundaries = io.elements<float>(1);
    const size_t rows = static_cast<size_t>(view.shape[0]);
    io.require(rows <= values.size(), "BoostedTreesBucketize: the rows have no values");
    const std::span<int32_t> out = io.vector_output<int32_t>(0, rows);
    if (io.failed()) return io.take();
    const auto last = static_cast<int32_t>(boundaries.size()) - 1;
    for (size_t row = 0; row < rows; ++row) {
      const auto found = std::lower_bound(boundaries.begin(), boundaries.end(), values[row]);
      const auto bucket = static_cast<int32_t>(found - boundaries.begin());
      out[row] = std::max(0, std::min(bucket, last));
    }
    return io.take();
  }
};

Result<std::unique_ptr<Kernel>> make_bucketize(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<BucketizeFeature>());
}

}  // namespace

std::vector<OperatorType> tree_operators() {
  const Operand reals{DType::Fp32}, integers{DType::Int32};
  const Operand list{DType::Invalid, Operand::Form::Variadic};
  return {
      {"BoostedTreesPredict", {list}, {reals}, make_predict},
      {"BoostedTreesBucketize", {reals, reals}, {integers}, make_bucketize},
  };
}

}  // namespace serval::operators
