// Evaluates a PMML decision tree with any predicates and missing-value strategies: finds the node
// in which a row ends. Later stages pick the values of that node. Plain forests are in forest/. Hot
// path, any thread. Source: tabular.md 3.3
#include <algorithm>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

// Encoding of a node's predicate in the attribute `test`; ts/importers/pmml/tree/native.ts has the
// same.
enum class Test : uint8_t {
  True,
  False,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  IsMissing,
  IsNotMissing,
  TextEqual,
  TextNotEqual,
  InTexts,
  NotInTexts,
  InReals,
  NotInReals,
  Expression,
  Surrogate
};
constexpr int32_t kTests = 18;
constexpr size_t kDepthMax = 4096;

using OnMissingNode = stages::TreeMissing;

struct Node {
  int32_t first = -1, next = -1;  // child, sibling
  int32_t input = 0;
  Test test = Test::True;
  bool scored = false;
  double number = 0;  // threshold; of texts, sets, expressions: which one
};

// Result of a traversal of the tree.
struct Found {
  int32_t node = -1;
  int32_t levels = 0;  // of missing values
};

class Tree final : public Stage {
 public:
  explicit Tree(StageSpec& spec)
      : place_(spec.place),
        inputs_(spec.inputs.begin(), spec.inputs.end()),
        outputs_(spec.outputs.begin(), spec.outputs.end()),
        defaults_(spec.integers(stages::pmml_tree::default_child)),
        counts_(spec.reals(stages::pmml_tree::counts)),
        scores_(spec.reals(stages::pmml_tree::scores)),
        blended_(spec.reals(stages::pmml_tree::blended)),
        blended_scores_(spec.reals(stages::pmml_tree::blended_scores)),
        answers_(spec.integers(stages::pmml_tree::answers)),
        texts_(spec.text_ids(stages::pmml_tree::texts)),
        text_offsets_(spec.integers(stages::pmml_tree::text_offsets)),
        real_offsets_(spec.integers(stages::pmml_tree::real_offsets)),
        set_reals_(spec.reals(stages::pmml_tree::set_reals)),
        set_texts_(spec.text_ids(stages::pmml_tree::set_texts)),
        expressions_(spec.expressions(stages::pmml_tree::expressions)),
        surrogate_offsets_(spec.integers(stages::pmml_tree::surrogate_offsets)),
        width_(static_cast<size_t>(std::max(spec.integer(stages::pmml_tree::width), 0))),
        penalty_(spec.real(stages::pmml_tree::penalty)),
        last_without_child_(spec.flag(stages::pmml_tree::no_child_last)) {
    strategy_ = spec.choice(stages::pmml_tree::on_missing);
    read_nodes(spec);
    if (!spec.failed()) check(spec);
  }

  OnFailure on_failure() const override { return OnFailure::Own; }
  Status run(Run& run, Rows rows) const override {
    if (Status fit = check_inputs(run); !fit.ok()) return fit;
    Column& nodes = run.out(outputs_[0], Type::Int32, rows);
    Column* scores = outputs_.size() > 1 ? &run.out(outputs_[1], Type::Vector, rows) : nullptr;
    Column* blended = outputs_.size() > 2 ? &run.out(outputs_[2], Type::Vector, rows) : nullptr;
    Eval eval{run, 0, {}};
    for (uint32_t i = 0; i < rows.count; ++i) {
      eval.row = rows[i];
      const Found found = blended != nullptr ? blend(eval, *scores, *blended) : walk(eval);
      check_answer(eval, found);
      if (eval.failed()) {
        if (Status refused = refuse_failed(run, place_, eval); !refused.ok()) return refused;
        nodes.set_missing(eval.row);
        continue;
      }
      if (found.node < 0) nodes.set_missing(eval.row);
      else nodes.integers[eval.row] = found.node;
      if (scores != nullptr) put_scores(found, eval.row, *scores);
    }
    return {};
  }

 private:
  void read_nodes(StageSpec& spec) {
    const auto first = spec.integers(stages::pmml_tree::first_child),
               next = spec.integers(stages::pmml_tree::next_sibling),
               input = spec.integers(stages::pmml_tree::input),
               test = spec.integers(stages::pmml_tree::test),
               scored = spec.integers(stages::pmml_tree::scored);
    const auto number = spec.reals(stages::pmml_tree::number);
    const size_t count = first.size();
    const bool equal = next.size() == count && input.size() == count && test.size() == count &&
                       scored.size() == count && number.size() == count;
    if (count == 0 || !equal) {
      spec.fail("its nodes' attributes are of different lengths");
      return;
    }
    nodes_.resize(count);
    std::vector<uint32_t> depths(count, 0);
    for (size_t i = 0; i < count; ++i) {
      nodes_[i] = {first[i],       next[i],  input[i], static_cast<Test>(test[i]),
                   scored[i] != 0, number[i]};
      const auto at = static_cast<int64_t>(i);
      // Children and siblings have higher indices than the node, which excludes cycles.
      const auto fits = [&](int32_t other) {
        return other == -1 || (other > at && other < static_cast<int64_t>(count));
      };
      if (!fits(first[i]) || !fits(next[i]) || test[i] < 0 || test[i] >= kTests) {
        spec.fail("node " + std::to_string(i) + " is wrong");
        return;
      }
      if (first[i] >= 0) depths[static_cast<size_t>(first[i])] = depths[i] + 1;
      if (next[i] >= 0) depths[static_cast<size_t>(next[i])] = depths[i];
      if (depths[i] > kDepthMax) {
        spec.fail("the tree is deeper than " + std::to_string(kDepthMax));
        return;
      }
    }
  }

  void check(StageSpec& spec) const {
    const auto among = [&](double number, size_t count) {
      return number >= 0 && number < static_cast<double>(count) && number == std::floor(number);
    };
    const auto sets = [](std::span<const int32_t> offsets, size_t members) {
      return std::is_sorted(offsets.begin(), offsets.end()) &&
             (offsets.empty() ||
              (offsets.front() == 0 && static_cast<size_t>(offsets.back()) == members));
    };
    bool good = sets(text_offsets_, set_texts_.size()) && sets(real_offsets_, set_reals_.size()) &&
                sets(surrogate_offsets_, surrogate_offsets_.empty() ? 0 : expressions_.size());
    const auto ranges = [](std::span<const int32_t> offsets) {
      return offsets.empty() ? 0 : offsets.size() - 1;
    };
    for (const Node& node : nodes_) {
      switch (node.test) {
        case Test::True:
        case Test::False: continue;
        case Test::TextEqual:
        case Test::TextNotEqual: good = good && among(node.number, texts_.size()); break;
        case Test::InTexts:
        case Test::NotInTexts: good = good && among(node.number, ranges(text_offsets_)); break;
        case Test::InReals:
        case Test::NotInReals: good = good && among(node.number, ranges(real_offsets_)); break;
        case Test::Expression: good = good && among(node.number, expressions_.size()); continue;
        case Test::Surrogate:
          good = good && among(node.number, ranges(surrogate_offsets_));
          continue;
        default: break;
      }
      good = good && among(node.input, inputs_.size());
    }
    const size_t count = nodes_.size();
    for (const int32_t child : defaults_)
      good = good && child >= -1 && child < static_cast<int64_t>(count);
    if (!defaults_.empty()) good = good && defaults_.size() == count;
    const bool blends = strategy_ >= OnMissingNode::Weighted;
    if (outputs_.size() > 1) good = good && width_ > 0 && scores_.size() == count * width_;
    if (blends) good = good && counts_.size() == count && blended_.size() == count * width_;
    if (strategy_ == OnMissingNode::Weighted)
      good = good && blended_scores_.size() == blended_.size();
    if (!answers_.empty()) good = good && answers_.size() == count;
    if (!good) spec.fail("the tables of its nodes do not fit each other");
    spec.expect_outputs(blends ? 3 : 1, blends ? 3 : 2);
  }

  Status check_inputs(const Run& run) const {
    for (const uint32_t column : inputs_) {
      const Type type = run.in(column).type;
      if (type != Type::Vector && type != Type::List && type != Type::Decimal) continue;
      return invalid_argument(place_ + ": a tree cannot test values of type " +
                              std::string(type_name(type)));
    }
    return {};
  }

  // 1: true, 0: false, -1: unknown. A surrogate that is not the first adds a level.
  int test(Eval& eval, const Node& node, int32_t& levels) const {
    switch (node.test) {
      case Test::True: return 1;
      case Test::False: return 0;
      case Test::Expression: {
        const Value value = expressions_[static_cast<size_t>(node.number)]->value(eval);
        return value.missing() ? -1 : value.integer != 0;
      }
      case Test::Surrogate: return surrogate(eval, static_cast<size_t>(node.number), levels);
      default: break;
    }
    const Column& in = eval.run.in(inputs_[static_cast<size_t>(node.input)]);
    const bool missing = missing_at(in, eval.row);
    if (const Failure* failure = missing ? in.failure(eval.row) : nullptr; failure != nullptr) {
      eval.fail(*failure);
      return -1;
    }
    if (node.test == Test::IsMissing) return missing;
    if (node.test == Test::IsNotMissing) return !missing;
    if (missing) return -1;
    if (storage_of(in.type) == Storage::Text) return test_text(in.texts[eval.row], node);
    return test_number(real_at(in, eval.row), node);
  }

  int surrogate(Eval& eval, size_t which, int32_t& levels) const {
    const auto begin = static_cast<size_t>(surrogate_offsets_[which]);
    const auto end = static_cast<size_t>(surrogate_offsets_[which + 1]);
    for (size_t i = begin; i < end; ++i) {
      const Value value = expressions_[i]->value(eval);
      if (eval.failed()) return -1;
      if (value.missing()) continue;
      if (i > begin) levels += 1;
      return value.integer != 0;
    }
    return -1;
  }

  int test_number(double value, const Node& node) const {
    switch (node.test) {
      case Test::Less: return value < node.number;
      case Test::LessEqual: return value <= node.number;
      // NaN is larger than every number.
      case Test::Greater: return !(value <= node.number);
      case Test::GreaterEqual: return !(value < node.number);
      case Test::Equal: return value == node.number;
      case Test::NotEqual: return value != node.number;
      case Test::InReals:
      case Test::NotInReals: {
        const auto which = static_cast<size_t>(node.number);
        const auto members = set_reals_.subspan(
            static_cast<size_t>(real_offsets_[which]),
            static_cast<size_t>(real_offsets_[which + 1] - real_offsets_[which]));
        const bool in = std::find(members.begin(), members.end(), value) != members.end();
        return in == (node.test == Test::InReals);
      }
      // A set without members has no type.
      case Test::InTexts: return 0;
      case Test::NotInTexts: return 1;
      default: return -1;
    }
  }

  int test_text(TextId value, const Node& node) const {
    const auto which = static_cast<size_t>(node.number);
    switch (node.test) {
      case Test::TextEqual: return value == texts_[which];
      case Test::TextNotEqual: return value != texts_[which];
      case Test::InTexts:
      case Test::NotInTexts: {
        const auto* begin = set_texts_.data() + text_offsets_[which];
        const auto* end = set_texts_.data() + text_offsets_[which + 1];
        return (std::find(begin, end, value) != end) == (node.test == Test::InTexts);
      }
      default: return -1;
    }
  }

  const Node& node_at(int32_t index) const { return nodes_[static_cast<size_t>(index)]; }

  Found walk(Eval& eval) const {
    Found found;
    if (test(eval, nodes_[0], found.levels) != 1 || eval.failed()) return {};
    int32_t at = 0;
    while (node_at(at).first >= 0) {
      int32_t child = node_at(at).first;
      bool descends = false;
      for (; child >= 0; child = node_at(child).next) {
        const int result = test(eval, node_at(child), found.levels);
        if (eval.failed()) return {};
        if (result == 1) descends = true;
        else if (result == 0 || strategy_ == OnMissingNode::None) continue;
        else if (strategy_ == OnMissingNode::Null) return {};
        else if (strategy_ == OnMissingNode::Last) return {at, found.levels};
        else {
          child = defaults_.empty() ? -1 : defaults_[static_cast<size_t>(at)];
          if (child <= at) {
            eval.fail("node " + std::to_string(at) + " has no default child");
            return {};
          }
          found.levels += 1;
          descends = true;
        }
        break;
      }
      if (!descends) {
        const bool keeps = last_without_child_ && node_at(at).scored;
        return {keeps ? at : -1, found.levels};
      }
      at = child;
    }
    return {at, found.levels};
  }

  void put_scores(const Found& found, uint32_t row, Column& out) const {
    if (found.node < 0) return;
    const std::span<const double> own = scores_of(found.node);
    if (std::isnan(own.front())) return;  // the node has none
    const double factor = found.levels == 0 ? 1 : std::pow(penalty_, found.levels);
    out.start_row(row);
    for (const double each : own) out.reals.push_back(each * factor);
    out.end_row();
  }

  std::span<const double> scores_of(int32_t node) const {
    return scores_.subspan(static_cast<size_t>(node) * width_, width_);
  }

  // Refuses a row that ends in a node without a result.
  void check_answer(Eval& eval, const Found& found) const {
    if (found.node < 0 || answers_.empty() || answers_[static_cast<size_t>(found.node)] != 0)
      return;
    eval.fail("node " + std::to_string(found.node + 1) + ", where it ends, has no score");
  }

  // Sums of a traversal that a missing value splits.
  struct Blend {
    std::vector<double> sums, scores;
    bool single = true;  // nothing was missing
  };

  // Blends all leaves that are possible despite missing values. Returns the node if only one is
  // possible: it alone decides the row.
  Found blend(Eval& eval, Column& scores, Column& blended) const {
    Found found;
    if (test(eval, nodes_[0], found.levels) != 1 || eval.failed()) return {};
    Blend made{std::vector<double>(width_, 0.0), std::vector<double>(width_, 0.0)};
    gather(eval, 0, 1, made, found);
    if (eval.failed() || made.single) return found;
    if (strategy_ == OnMissingNode::Aggregate) {
      double total = 0;
      for (const double each : made.sums) total += each;
      if (!(total > 0)) return {};
      for (double& each : made.sums) each /= total;
      made.scores = made.sums;
    }
    put_row(eval.row, made.scores, scores);
    put_row(eval.row, made.sums, blended);
    return {};
  }

  static void put_row(uint32_t row, const std::vector<double>& values, Column& out) {
    out.start_row(row);
    out.reals.insert(out.reals.end(), values.begin(), values.end());
    out.end_row();
  }

  // NOLINTNEXTLINE(misc-no-recursion): kDepthMax deep
  void gather(Eval& eval, int32_t at, double weight, Blend& made, Found& found) const {
    if (node_at(at).first < 0) return add(at, weight, made, found);
    double open = 0;
    bool unknown = false;
    for (int32_t child = node_at(at).first; child >= 0; child = node_at(child).next) {
      const int result = test(eval, node_at(child), found.levels);
      if (eval.failed()) return;
      if (result == 1 && !unknown) return gather(eval, child, weight, made, found);
      if (result == -1) unknown = true;
      if (result != 0) open += counts_[static_cast<size_t>(child)];
    }
    if (!unknown) {
      if (last_without_child_ && node_at(at).scored) add(at, weight, made, found);
      return;
    }
    made.single = false;
    int32_t levels = 0;
    for (int32_t child = node_at(at).first; child >= 0; child = node_at(child).next) {
      if (test(eval, node_at(child), levels) == 0) continue;
      const double share = open > 0 ? counts_[static_cast<size_t>(child)] / open : 0;
      gather(eval, child, weight * share, made, found);
    }
  }

  void add(int32_t node, double weight, Blend& made, Found& found) const {
    found.node = node;
    const double factor = strategy_ == OnMissingNode::Aggregate ? 1 : weight;
    const size_t first = static_cast<size_t>(node) * width_;
    for (size_t k = 0; k < width_; ++k) {
      made.sums[k] += blended_[first + k] * factor;
      if (!blended_scores_.empty()) made.scores[k] += blended_scores_[first + k] * factor;
    }
  }

  std::string place_;
  std::vector<uint32_t> inputs_, outputs_;
  std::vector<Node> nodes_;
  std::span<const int32_t> defaults_;
  std::span<const double> counts_;          // by node
  std::span<const double> scores_;          // confidences; a first one of NaN: the node has none
  std::span<const double> blended_;         // what is added up over leaves
  std::span<const double> blended_scores_;  // and as confidences, of Weighted
  std::span<const int32_t> answers_;        // by node; empty: all have a score
  std::vector<TextId> texts_;
  std::span<const int32_t> text_offsets_, real_offsets_;
  std::span<const double> set_reals_;
  std::vector<TextId> set_texts_;
  std::vector<std::unique_ptr<Expression>> expressions_;
  std::span<const int32_t> surrogate_offsets_;
  size_t width_;
  double penalty_;
  bool last_without_child_;
  OnMissingNode strategy_ = OnMissingNode::None;
};

}  // namespace

std::unique_ptr<Stage> make_tree(StageSpec& spec) { return std::make_unique<Tree>(spec); }

}  // namespace serval::tabular::pmml
