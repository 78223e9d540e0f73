// Stage kinds pmml.association (selects rules by a row's items) and pmml.rule_value (an output's
// value from the rule of one rank). Hot path. Source: tabular.md 3.2.
#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>

#include "tabular/pmml/models/inputs.h"
#include "tabular/pmml/models/kinds.h"

namespace serval::tabular::pmml {
namespace {

using Algorithm = stages::AssociationAlgorithm;

struct Rule {
  uint32_t antecedent, consequent;
};

// A row has an item if the input has the value. item -1: a known value without an item.
struct Pair {
  uint32_t input;
  double code;
  int32_t item;
};

// Inputs: with "list", one List of strings, the items' values; else scalars. Outputs: by algorithm,
// a List of Int32, the rules in the document's order.
class Association final : public Stage {
 public:
  explicit Association(StageSpec& spec)
      : inputs_(spec),
        outputs_(spec.outputs.begin(), spec.outputs.end()),
        place_(spec.place),
        list_(spec.flag(stages::pmml_association::list)) {
    algorithms_ = spec.choices(stages::pmml_association::algorithms);
    if (algorithms_.size() != outputs_.size()) {
      spec.fail("algorithms and outputs do not fit each other");
    }
    read_items(spec);
    read_rules(spec);
  }

  Status run(Run& run, Rows rows) const override {
    Inputs inputs;
    if (list_) {
      const Column& items = run.in(inputs_.columns()[0]);
      if (items.type != Type::List || storage_of(items.element) != Storage::Text) {
        return invalid_argument("column '" + inputs_.name(0) + "': expected lists of strings");
      }
    } else if (Status opened = inputs.open(run, inputs_); !opened.ok()) {
      return opened;
    }
    for (const uint32_t output : outputs_) run.out(output, Type::List, rows, Type::Int32);
    std::vector<uint8_t> has(item_count_), sets(set_rows_.size() - 1);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      std::fill(has.begin(), has.end(), uint8_t{0});
      bool answered = true;
      Status read = list_ ? read_list(run, row, has, answered)
                          : read_scalars(run, inputs, row, has, answered);
      if (!read.ok()) return read;
      if (!answered) continue;
      for (const uint32_t output : outputs_) run.frame.columns[output].start_row(row);
      select(run, has, sets);
      for (const uint32_t output : outputs_) run.frame.columns[output].end_row();
    }
    return {};
  }

 private:
  void read_items(StageSpec& spec) {
    const int32_t count = spec.integer(stages::pmml_association::items);
    const auto items = spec.integers(stages::pmml_association::pair_items);
    const auto inputs = spec.integers(stages::pmml_association::pair_inputs);
    const auto values = spec.values(stages::pmml_association::pair_values);
    item_count_ = static_cast<size_t>(std::max(count, 0));
    if (items.size() != values.size() || inputs.size() != values.size() ||
        !good_indices(items, -1, item_count_) || !good_indices(inputs, 0, inputs_.count()) ||
        (list_ && inputs_.count() != 1)) {
      return spec.fail("the items' parts do not fit each other");
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (list_) {
        if (items[i] < 0 || !is_text(values[i].type)) return spec.fail("an item is not a string");
        by_text_[values[i].text].push_back(static_cast<uint32_t>(items[i]));
        continue;
      }
      inputs_.compare(spec, inputs[i], values[i]);
      pairs_.push_back({static_cast<uint32_t>(inputs[i]), code_of(values[i]), items[i]});
    }
    strict_.resize(inputs_.count(), 0);
    for (const int32_t flag : spec.integers(stages::pmml_association::flag_inputs)) {
      if (flag < 0 || static_cast<size_t>(flag) >= strict_.size()) {
        return spec.fail("there is no input " + std::to_string(flag));
      }
      strict_[static_cast<size_t>(flag)] = 1;
    }
  }

  void read_rules(StageSpec& spec) {
    set_rows_ = spec.integers(stages::pmml_association::set_rows);
    set_items_ = spec.integers(stages::pmml_association::set_items);
    const auto antecedents = spec.integers(stages::pmml_association::antecedents);
    const auto consequents = spec.integers(stages::pmml_association::consequents);
    const size_t sets = set_rows_.empty() ? 0 : set_rows_.size() - 1;
    if (!good_offsets(set_rows_, sets, set_items_.size()) ||
        !good_indices(set_items_, 0, item_count_) || antecedents.size() != consequents.size() ||
        !good_indices(antecedents, 0, sets) || !good_indices(consequents, 0, sets)) {
      return spec.fail("the rules' parts do not fit each other");
    }
    for (size_t r = 0; r < antecedents.size(); ++r) {
      rules_.push_back(
          {static_cast<uint32_t>(antecedents[r]), static_cast<uint32_t>(consequents[r])});
    }
  }

  Status read_list(Run& run, uint32_t row, std::vector<uint8_t>& has, bool& answered) const {
    const Column& items = run.in(inputs_.columns()[0]);
    if (items.state(row) == State::Missing) {
      answered = false;
      return run.refuse(row, place_, "'" + inputs_.name(0) + "' is missing");
    }
    for (const TextId text : items.row_texts(row)) {
      const auto found = by_text_.find(text);
      if (found == by_text_.end()) continue;
      for (const uint32_t item : found->second) has[item] = 1;
    }
    return {};
  }

  Status read_scalars(Run& run, const Inputs& inputs, uint32_t row, std::vector<uint8_t>& has,
                      bool& answered) const {
    std::vector<uint8_t> open(strict_);
    for (const Pair& pair : pairs_) {
      if (inputs.missing(pair.input, row) || inputs.at(pair.input, row) != pair.code) continue;
      open[pair.input] = 0;
      if (pair.item >= 0) has[static_cast<size_t>(pair.item)] = 1;
    }
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i] == 0 || inputs.missing(i, row)) continue;
      answered = false;
      return run.refuse(row, place_, "'" + inputs_.name(i) + "' is neither true nor false");
    }
    return {};
  }

  void select(Run& run, const std::vector<uint8_t>& has, std::vector<uint8_t>& sets) const {
    for (size_t s = 0; s < sets.size(); ++s) {
      sets[s] = 1;
      for (auto i = static_cast<size_t>(set_rows_[s]); i < static_cast<size_t>(set_rows_[s + 1]);
           ++i) {
        sets[s] &= has[static_cast<size_t>(set_items_[i])];
      }
    }
    for (size_t r = 0; r < rules_.size(); ++r) {
      if (sets[rules_[r].antecedent] == 0) continue;
      const bool consequent = sets[rules_[r].consequent] != 0;
      for (size_t a = 0; a < algorithms_.size(); ++a) {
        if (algorithms_[a] == Algorithm::Recommendation ||
            consequent == (algorithms_[a] == Algorithm::RuleAssociation)) {
          run.frame.columns[outputs_[a]].integers.push_back(static_cast<int64_t>(r));
        }
      }
    }
  }

  InputNames inputs_;
  std::vector<uint32_t> outputs_;
  std::string place_;
  bool list_;
  std::vector<Algorithm> algorithms_;
  size_t item_count_ = 0;
  std::vector<Pair> pairs_;
  std::unordered_map<TextId, std::vector<uint32_t>> by_text_;
  std::vector<uint8_t> strict_;  // by input: its values are flags
  std::span<const int32_t> set_rows_, set_items_;
  std::vector<Rule> rules_;
};

// Input: a List of rules. Output: the number, text or texts of the rule of rank "rank" (1 = first);
// with "many", Lists of numbers or texts of the first "rank" rules (0 = all).
class RuleValue final : public Stage {
 public:
  explicit RuleValue(StageSpec& spec)
      : input_(spec.inputs.empty() ? 0 : spec.inputs[0]),
        output_(spec.outputs.empty() ? 0 : spec.outputs[0]),
        many_(spec.flag(stages::pmml_rule_value::many)),
        numbers_(spec.reals(stages::pmml_rule_value::numbers)),
        texts_(spec.text_ids(stages::pmml_rule_value::texts)),
        rows_(spec.integers(stages::pmml_rule_value::text_rows)) {
    const int32_t rank = spec.integer(stages::pmml_rule_value::rank);
    if (rank < (many_ ? 0 : 1)) spec.fail("rank " + std::to_string(rank) + " is out of range");
    rank_ = static_cast<uint32_t>(std::max(rank, 0));
    const auto keys = spec.reals(stages::pmml_rule_value::keys);
    const size_t count = keys.size();
    const bool fits = !numbers_.empty() ? numbers_.size() == count
                      : rows_.empty()   ? texts_.size() == count
                                        : !many_ && good_offsets(rows_, count, texts_.size());
    if (!fits) {
      spec.fail("the rules' parts do not fit each other");
      return;
    }
    const bool descending = spec.flag(stages::pmml_rule_value::descending);
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return descending ? keys[a] > keys[b] : keys[a] < keys[b];
    });
    places_.resize(count);
    for (uint32_t i = 0; i < count; ++i) places_[order[i]] = i;
  }

  Status run(Run& run, Rows rows) const override {
    const bool numbers = !numbers_.empty();
    const Type type = numbers ? Type::Double : Type::String;
    const bool lists = many_ || !rows_.empty();
    Column& out = lists ? run.out(output_, Type::List, rows, type) : run.out(output_, type, rows);
    const Column& rules = run.in(input_);
    std::vector<uint32_t> ranked;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      rank(rules, row, ranked);
      const bool answered = rules.valid(row) && (many_ || ranked.size() >= rank_);
      if (!answered) {
        if (!lists) out.set_missing(row);
        continue;
      }
      if (lists) out.start_row(row);
      if (many_) {
        for (const uint32_t rule : ranked) append(out, rule);
      } else if (const uint32_t rule = ranked[rank_ - 1]; lists) {
        for (auto t = rows_[rule]; t < rows_[rule + 1]; ++t) {
          out.texts.push_back(texts_[static_cast<size_t>(t)]);
        }
      } else if (numbers) {
        out.reals[row] = numbers_[rule];
      } else {
        out.texts[row] = texts_[rule];
      }
      if (lists) out.end_row();
    }
    return {};
  }

 private:
  void append(Column& out, uint32_t rule) const {
    if (numbers_.empty()) out.texts.push_back(texts_[rule]);
    else out.reals.push_back(numbers_[rule]);
  }

  // The row's rules in rank order, the first rank_ of them (0 = all).
  void rank(const Column& rules, uint32_t row, std::vector<uint32_t>& ranked) const {
    ranked.clear();
    if (!rules.valid(row)) return;
    for (uint64_t i = rules.offsets[row]; i < rules.offsets[row + 1]; ++i) {
      ranked.push_back(static_cast<uint32_t>(rules.integers[i]));
    }
    std::sort(ranked.begin(), ranked.end(),
              [this](uint32_t a, uint32_t b) { return places_[a] < places_[b]; });
    if (rank_ > 0 && ranked.size() > rank_) ranked.resize(rank_);
  }

  uint32_t input_, output_;
  bool many_;
  uint32_t rank_ = 1;
  std::span<const double> numbers_;
  std::vector<TextId> texts_;
  std::span<const int32_t> rows_;
  std::vector<uint32_t> places_;  // by rule: its place among all
};

}  // namespace

std::unique_ptr<Stage> make_association(StageSpec& spec) {
  return std::make_unique<Association>(spec);
}

std::unique_ptr<Stage> make_rule_value(StageSpec& spec) {
  spec.expect_inputs(1, 1);
  spec.expect_outputs(1, 1);
  return std::make_unique<RuleValue>(spec);
}

}  // namespace serval::tabular::pmml
