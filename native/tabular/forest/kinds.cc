// The stage kind `forest`: sums of the trees' results, and the leaves that rows reach. Hot path,
// any thread.
#include <algorithm>
#include <memory>

#include "tabular/forest/ranked.h"
#include "tabular/forest/shared.h"

namespace serval::tabular {
namespace {

// Bytes of a block of rows, read and summed together so that its data stays in the cache.
constexpr size_t kBlockBytes = 32 * 1024;
constexpr size_t kBlockRowsMin = 16, kBlockRowsMax = 256;

using Sum = stages::ForestSum;

class ForestStage final : public Stage {
 public:
  explicit ForestStage(StageSpec& spec)
      : place_(spec.place),
        own_(std::make_shared<SharedForest>(spec, spec.flag(stages::forest::vector))),
        features_(own_->features),
        forest_(own_->forest),
        explained_(spec.flag(stages::forest::explained)) {
    read_trees(spec);
    read_sums(spec);
    if (spec.failed()) return;
    own_->features.bind(spec, forest_);
    read_outputs(spec);
    spec.share(own_);
    const size_t row_bytes = forest_.stride() * sizeof(double);
    size_t block_rows = std::clamp(kBlockBytes / row_bytes, kBlockRowsMin, kBlockRowsMax);
    ranked_.build(forest_, width_ == 1 ? leaves_ : std::span<const double>());
    if (ranked_.has_blocks()) {
      constexpr size_t kTogether = RankedForest::kRows * RankedForest::kTogether;
      block_rows = (block_rows + kTogether - 1) / kTogether * kTogether;
    }
    block_rows_ = static_cast<uint32_t>(block_rows);
  }

  OnFailure on_failure() const override {
    return features_.is_vector() ? OnFailure::Refuse : OnFailure::Own;
  }
  bool on_request() const override { return explained_; }
  Status run(Run& run, Rows rows) const override;

 private:
  Status refuse_lost(Run& run, Rows rows) const;
  // Working memory of one block: parts of Frame::scratch.
  struct Work {
    double* features;
    double* sums;     // sum_width_ of each row
    double* weights;  // per row: the weight of the trees that had a result
    // all rows of each tree; of one tree at a time if the leaves are not an output
    int32_t* leaves;
    uint8_t* lost;    // rows without a result
    uint8_t* ranked;  // of RankedForest
  };
  static size_t blocks_of(size_t rows) {
    return (rows + RankedForest::kRows - 1) / RankedForest::kRows;
  }
  void read_trees(StageSpec& spec);
  void read_sums(StageSpec& spec);
  void read_outputs(StageSpec& spec);
  Work work_in(std::vector<double>& scratch, uint32_t rows) const;
  void add(const Work& work, size_t tree, uint32_t first, uint32_t end,
           const int32_t* leaves) const;
  void add_row(const Work& work, size_t tree, uint32_t row, int32_t leaf) const;
  template <typename Value>
  void add_all(const Work& work, Value value) const;
  void walk_row(const Work& work) const;
  void walk(const Work& work, uint32_t rows) const;
  uint32_t ranked_rows(uint32_t rows) const;
  void walk_ranked(const Work& work, size_t tree, uint32_t rows, int32_t* leaves) const;
  void finish(const Work& work, uint32_t rows) const;
  void write(const Work& work, Rows rows, uint32_t first, uint32_t count, Column* values,
             Column* leaf) const;

  std::string place_;
  std::shared_ptr<SharedForest> own_;
  const ForestFeatures& features_;
  const Forest& forest_;
  RankedForest ranked_;
  bool explained_;
  std::span<const double> leaves_, weights_, base_;
  size_t width_ = 1, sum_width_ = 1;
  Sum sum_ = Sum::Sum;
  bool float_sums_ = false, skip_ = false;
  bool is_plain_sum_ = false;  // one number a row, to which each tree adds its leaf's value
  bool needs_weights_ = false;
  bool has_values_ = false, has_leaf_ = false;
  bool vector_out_ = false;
  uint32_t values_ = 0, leaf_ = 0;
  Type leaf_type_ = Type::Int32;
  uint32_t block_rows_ = 1;
};

void ForestStage::read_trees(StageSpec& spec) {
  TreeNodes nodes;
  nodes.feature = spec.integers(stages::forest::feature);
  nodes.threshold = spec.reals(stages::forest::threshold);
  nodes.left = spec.integers(stages::forest::left);
  nodes.right = spec.integers(stages::forest::right);
  nodes.test = spec.integers(stages::forest::test);
  nodes.missing = spec.integers(stages::forest::missing);
  nodes.roots = spec.integers(stages::forest::roots);
  nodes.set_offsets = spec.integers(stages::forest::set_offsets);
  nodes.set_members = spec.integers(stages::forest::set_members);
  nodes.feature_count = features_.count();
  leaves_ = spec.reals(stages::forest::leaves);
  const int32_t width = spec.integer(stages::forest::width);
  if (spec.failed()) return;
  if (width < 1 || leaves_.size() % static_cast<size_t>(width) != 0) {
    spec.fail(std::to_string(leaves_.size()) + " values for leaves with " + std::to_string(width) +
              " each");
    return;
  }
  width_ = static_cast<size_t>(width);
  nodes.leaf_count = leaves_.size() / width_;
  if (std::string fault = own_->forest.build(nodes); !fault.empty()) spec.fail(std::move(fault));
  own_->leaves = leaves_;
  own_->width = width_;
}

void ForestStage::read_sums(StageSpec& spec) {
  sum_ = spec.choice(stages::forest::sum);
  weights_ = spec.reals(stages::forest::weights);
  base_ = spec.reals(stages::forest::base);
  float_sums_ = spec.flag(stages::forest::float_sums);
  skip_ = spec.flag(stages::forest::skip_no_answer);
  if (spec.failed()) return;
  if (!weights_.empty() && weights_.size() != forest_.tree_count()) {
    spec.fail("expected " + std::to_string(forest_.tree_count()) + " weights, got " +
              std::to_string(weights_.size()));
  }
  if (!base_.empty() && base_.size() != width_) {
    spec.fail("expected " + std::to_string(width_) + " base values, got " +
              std::to_string(base_.size()));
  }
  if (sum_ == Sum::Each && (!weights_.empty() || !base_.empty() || skip_)) {
    spec.fail("an output for each tree allows no weights, base values or skipped trees");
  }
  own_->weights = weights_;
  own_->base = base_;
  own_->sum = sum_;
  own_->skip = skip_;
  needs_weights_ = sum_ == Sum::Mean || skip_;
  is_plain_sum_ = width_ == 1 && sum_ != Sum::Each && weights_.empty();
  sum_width_ = sum_ == Sum::Each ? width_ * forest_.tree_count() : width_;
}

void ForestStage::read_outputs(StageSpec& spec) {
  has_values_ = spec.flag(stages::forest::has_values);
  has_leaf_ = spec.flag(stages::forest::has_leaf);
  const size_t count = static_cast<size_t>(has_values_) + static_cast<size_t>(has_leaf_);
  spec.expect_outputs(std::max<size_t>(count, 1), count);
  if (spec.failed()) return;
  if (has_values_) {
    values_ = spec.outputs[0];
    const Type type = spec.column_type(values_);
    vector_out_ = type == Type::Vector;
    if (!vector_out_ && (type != Type::Double || sum_width_ != 1)) {
      spec.fail("an output of " + std::string(type_name(type)) + " for " +
                std::to_string(sum_width_) + " values");
    }
  }
  if (has_leaf_) {
    leaf_ = spec.outputs[count - 1];
    leaf_type_ = spec.column_type(leaf_);
    const bool list = leaf_type_ == Type::List && spec.column_element(leaf_) == Type::Int32;
    if (!list && (leaf_type_ != Type::Int32 || forest_.tree_count() != 1)) {
      spec.fail("the leaves of " + std::to_string(forest_.tree_count()) + " trees in a column of " +
                std::string(type_name(leaf_type_)));
    }
  }
}

// One allocation, kept by the frame.
ForestStage::Work ForestStage::work_in(std::vector<double>& scratch, uint32_t rows) const {
  const bool all_trees = has_leaf_ || rows == 1;
  const size_t leaves = (rows * (all_trees ? forest_.tree_count() : 1) + 1) / 2;
  const size_t per_row = forest_.stride() + sum_width_ + 1;
  const size_t lost = rows / sizeof(double) + 1;
  constexpr size_t kAlign = RankedForest::kRows;
  const size_t ranked =
      ranked_.has_blocks() && rows > 1 ? ranked_.work_bytes(blocks_of(rows)) + kAlign : 0;
  scratch.resize(
      std::max(scratch.size(), rows * per_row + leaves + lost + ranked / sizeof(double)));
  Work work{};
  work.features = scratch.data();
  work.sums = work.features + rows * forest_.stride();
  work.weights = work.sums + rows * sum_width_;
  work.leaves = reinterpret_cast<int32_t*>(work.weights + rows);
  work.lost = reinterpret_cast<uint8_t*>(work.weights + rows + leaves);
  const auto end = reinterpret_cast<uintptr_t>(work.weights + rows + leaves + lost);
  work.ranked = work.lost + lost * sizeof(double) + (kAlign - end % kAlign) % kAlign;
  return work;
}

void ForestStage::add_row(const Work& work, size_t tree, uint32_t row, int32_t leaf) const {
  if (leaf < 0) {
    if (!skip_) work.lost[row] = 1;
    return;
  }
  const double* values = leaves_.data() + static_cast<size_t>(leaf) * width_;
  double* sums = work.sums + row * sum_width_;
  if (sum_ == Sum::Each) {
    std::copy_n(values, width_, sums + tree * width_);
    return;
  }
  const double weight = weights_.empty() ? 1 : weights_[tree];
  work.weights[row] += weight;
  for (size_t i = 0; i < width_; ++i) {
    const double value = weights_.empty() ? values[i] : weight * values[i];
    sums[i] = float_sums_
                  ? static_cast<float>(static_cast<float>(sums[i]) + static_cast<float>(value))
                  : sums[i] + value;
  }
}

// Adds the result of `tree` for rows from `first` to before `end`: leaves[row].
void ForestStage::add(const Work& work, size_t tree, uint32_t first, uint32_t end,
                      const int32_t* leaves) const {
  if (!is_plain_sum_ || float_sums_) {
    for (uint32_t row = first; row < end; ++row) add_row(work, tree, row, leaves[row]);
    return;
  }
  for (uint32_t row = first; row < end; ++row) {
    if (leaves[row] < 0) {
      add_row(work, tree, row, leaves[row]);
      continue;
    }
    work.sums[row] += leaves_[static_cast<size_t>(leaves[row])];
    work.weights[row] += 1;
  }
}

// Adds a number for each tree to the sum of one row.
template <typename Value>
void ForestStage::add_all(const Work& work, Value value) const {
  const size_t trees = forest_.tree_count();
  double sum = *work.sums;
  auto float_sum = static_cast<float>(sum);
  if (float_sums_) {
    for (size_t tree = 0; tree < trees; ++tree) float_sum += static_cast<float>(value(tree));
    sum = float_sum;
  } else {
    for (size_t tree = 0; tree < trees; ++tree) sum += value(tree);
  }
  *work.sums = sum;
  *work.weights += static_cast<double>(trees);
}

// One row through all trees.
void ForestStage::walk_row(const Work& work) const {
  const size_t trees = forest_.tree_count();
  const bool sums_only = is_plain_sum_ && !has_leaf_;
  if (ranked_.has_row()) {
    ranked_.walk_row(work.features, work.leaves);
    if (sums_only) {
      return add_all(work, [&](size_t tree) { return ranked_.value_at(work.leaves[tree]); });
    }
    for (size_t tree = 0; tree < trees; ++tree) {
      work.leaves[tree] = ranked_.leaf_at(work.leaves[tree]);
    }
  } else {
    forest_.walk_trees(work.features, work.leaves);
  }
  if (!has_values_) return;
  if (is_plain_sum_ && !forest_.may_stay()) {
    return add_all(work,
                   [&](size_t tree) { return leaves_[static_cast<size_t>(work.leaves[tree])]; });
  }
  for (size_t tree = 0; tree < trees; ++tree) add(work, tree, 0, 1, work.leaves + tree);
}

// The number of rows, the first ones, that RankedForest walks.
uint32_t ForestStage::ranked_rows(uint32_t rows) const {
  if (!ranked_.has_blocks()) return 0;
  const auto last = static_cast<uint32_t>(rows % RankedForest::kRows);
  return last < ranked_.rows_min() ? rows - last : rows;
}

void ForestStage::walk_ranked(const Work& work, size_t tree, uint32_t rows, int32_t* leaves) const {
  constexpr size_t kRows = RankedForest::kRows, kTogether = RankedForest::kTogether;
  for (uint32_t first = 0; first < rows; first += kRows * kTogether) {
    const size_t count = std::min<size_t>(rows - first, kRows * kTogether);
    const uint8_t* places = ranked_.walk_blocks(tree, first / kRows, blocks_of(count), work.ranked);
    if (has_values_ && is_plain_sum_) {
      ranked_.add(tree, places, count, float_sums_, work.sums + first);
      for (size_t i = 0; needs_weights_ && i < count; ++i) work.weights[first + i] += 1;
    }
    if (!has_leaf_ && is_plain_sum_) continue;
    for (size_t i = 0; i < count; ++i) leaves[first + i] = ranked_.leaf(tree, places[i]);
  }
  if (has_values_ && !is_plain_sum_) add(work, tree, 0, rows, leaves);
}

// Adds all trees in order, so that sums equal the original system's.
void ForestStage::walk(const Work& work, uint32_t rows) const {
  if (rows == 1) return walk_row(work);
  const size_t stride = forest_.stride();
  const uint32_t ranked = ranked_rows(rows);
  if (ranked > 0) RankedForest::begin(work.ranked);
  for (uint32_t first = 0; first < ranked; first += RankedForest::kRows) {
    const size_t count = std::min<size_t>(ranked - first, RankedForest::kRows);
    ranked_.rank_block(work.features + first * stride, stride, count, first / RankedForest::kRows,
                       work.ranked);
  }
  for (size_t tree = 0; tree < forest_.tree_count(); ++tree) {
    int32_t* leaves = has_leaf_ ? work.leaves + tree * rows : work.leaves;
    const uint32_t done = ranked_.has(tree) ? ranked : 0;
    if (done > 0) walk_ranked(work, tree, done, leaves);
    if (done == rows) continue;
    forest_.walk_rows(tree, work.features + done * stride, rows - done, leaves + done);
    if (has_values_) add(work, tree, done, rows, leaves);
  }
}

void ForestStage::finish(const Work& work, uint32_t rows) const {
  if (sum_ == Sum::Each) return;
  for (uint32_t row = 0; row < rows; ++row) {
    // Only possible if trees without a result are skipped: none had one.
    if (skip_ && work.weights[row] == 0) work.lost[row] = 1;
    if (sum_ != Sum::Mean) continue;
    for (size_t i = 0; i < width_; ++i) work.sums[row * width_ + i] /= work.weights[row];
  }
}

// Leaves are stored tree by tree.
void ForestStage::write(const Work& work, Rows rows, uint32_t first, uint32_t count, Column* values,
                        Column* leaf) const {
  const size_t trees = forest_.tree_count();
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t row = rows[first + i];
    if (values != nullptr) {
      const double* sums = work.sums + i * sum_width_;
      if (!vector_out_) {
        values->reals[row] = *sums;
        if (work.lost[i] != 0) values->set_missing(row);
      } else if (work.lost[i] == 0) {
        values->start_row(row);
        values->reals.insert(values->reals.end(), sums, sums + sum_width_);
        values->end_row();
      }
    }
    if (leaf == nullptr) continue;
    if (leaf_type_ == Type::Int32) {
      leaf->integers[row] = work.leaves[i];
      if (work.leaves[i] < 0 || work.lost[i] == 2) leaf->set_missing(row);
    } else if (work.lost[i] != 2) {
      leaf->start_row(row);
      for (size_t tree = 0; tree < trees; ++tree) {
        leaf->integers.push_back(work.leaves[tree * count + i]);
      }
      leaf->end_row();
    }
  }
}

// Refuses rows for which a tree reads a value that could not be computed.
Status ForestStage::refuse_lost(Run& run, Rows rows) const {
  std::vector<const Failure*> failures;
  std::vector<double> values(forest_.stride());
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows[i];
    if (!features_.failures(run, row, failures)) continue;
    std::vector<bool> lost;
    for (const Failure* each : failures) lost.push_back(each != nullptr);
    uint8_t none = 0;
    Status read = features_.read(run, {1, &row}, 0, 1, values.data(), &none);
    if (!read.ok()) return read;
    const int64_t slot = forest_.first_lost(values.data(), lost);
    if (slot < 0) continue;
    Status refused = run.refuse(*failures[static_cast<size_t>(slot)]);
    if (!refused.ok()) return refused;
  }
  return {};
}

Status ForestStage::run(Run& run, Rows rows) const {
  if (Status checked = features_.check(run); !checked.ok()) return checked;
  if (!features_.is_vector() && features_.any_failures(run)) {
    if (Status refused = refuse_lost(run, rows); !refused.ok()) return refused;
  }
  const size_t per_row =
      std::max(vector_out_ ? sum_width_ : 0, leaf_type_ == Type::List ? forest_.tree_count() : 0);
  if (const uint64_t held = uint64_t{per_row} * rows.count; held > run.options.column_values_max) {
    return run.too_many(held, place_);
  }
  Column* values =
      has_values_ ? &run.out(values_, vector_out_ ? Type::Vector : Type::Double, rows) : nullptr;
  Column* leaf = has_leaf_ ? &run.out(leaf_, leaf_type_, rows,
                                      leaf_type_ == Type::List ? Type::Int32 : Type::Any)
                           : nullptr;
  if (values != nullptr && vector_out_) values->reals.reserve(rows.count * sum_width_);
  for (uint32_t first = 0; first < rows.count; first += block_rows_) {
    if (run.cancel != nullptr && run.cancel->cancelled()) {
      return make_error(ErrorCode::Cancelled, "the run was cancelled");
    }
    const uint32_t count = std::min(block_rows_, rows.count - first);
    const Work work = work_in(run.frame.scratch, count);
    Status read = features_.read(run, rows, first, count, work.features, work.lost);
    if (!read.ok()) return read;
    for (uint32_t i = 0; i < count; ++i) {
      if (work.lost[i] != 0) work.lost[i] = 2;  // no vector: no leaf either
      work.weights[i] = 0;
      for (size_t k = 0; k < sum_width_; ++k) {
        work.sums[i * sum_width_ + k] = base_.empty() ? 0 : base_[k];
      }
    }
    walk(work, count);
    if (has_values_) finish(work, count);
    write(work, rows, first, count, values, leaf);
  }
  return {};
}

std::unique_ptr<Stage> make(StageSpec& spec) { return std::make_unique<ForestStage>(spec); }

constexpr StageKind kKinds[] = {{stages::forest::kind, make},
                                {stages::forest_shap::kind, make_forest_shap},
                                {stages::forest_trees::kind, make_forest_trees}};

}  // namespace

std::span<const StageKind> forest_kinds() { return kKinds; }

}  // namespace serval::tabular
