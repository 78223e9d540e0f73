// Recommendations: als, fp_growth. Hot path; any thread. Source: tabular.md 5.3
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "tabular/features/columns.h"
#include "tabular/java/number_text.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

// Floats by id.
class Factors {
 public:
  Factors(StageSpec& spec, const IntegersAttribute& ids_attribute,
          const RealsAttribute& factors_attribute, size_t rank) {
    const auto ids = spec.integers(ids_attribute);
    const auto factors = spec.reals(factors_attribute);
    if (factors.size() != ids.size() * rank) {
      spec.fail("expected " + std::to_string(rank) + " factors for each id");
      return;
    }
    factors_.reserve(factors.size());
    for (const double factor : factors) factors_.push_back(static_cast<float>(factor));
    for (size_t i = 0; i < ids.size(); ++i) places_.emplace(ids[i], i * rank);
  }
  // Null: not there.
  const float* operator[](int32_t id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? nullptr : factors_.data() + found->second;
  }

 private:
  std::vector<float> factors_;
  std::unordered_map<int32_t, size_t> places_;
};

size_t rank_of(StageSpec& spec) {
  const int32_t rank = spec.integer(stages::als::rank);
  if (rank < 1) spec.fail("expected a rank of 1 or more");
  return static_cast<size_t>(std::max(rank, 0));
}

// user, item -> Float.
class Als final : public ColumnStage {
 public:
  explicit Als(StageSpec& spec)
      : ColumnStage(spec),
        rank_(rank_of(spec)),
        users_(spec, stages::als::userIds, stages::als::userFactors, rank_),
        items_(spec, stages::als::itemIds, stages::als::itemFactors, rank_),
        drop_(spec.flag(stages::als::drop)) {
    spec.expect_inputs(2, 2);
    spec.expect_outputs(1, 1);
  }

  Status run(Run& run, Rows rows) const override {
    for (size_t k = 0; k < 2; ++k) {
      const Column& in = run.in(inputs_[k]);
      if (!Numbers::reads(in) && !all_missing(in, rows)) return mismatch(k, in, "a number");
    }
    Column& out = run.out(outputs_[0], Type::Float, rows);
    return each_row(run, rows, out, [&](uint32_t row) {
      int32_t ids[2];
      std::string fault = id_of(run, 0, row, ids[0]);
      if (fault.empty()) fault = id_of(run, 1, row, ids[1]);
      if (!fault.empty()) return fault;
      const float* user = users_[ids[0]];
      const float* item = items_[ids[1]];
      const bool known = user != nullptr && item != nullptr;
      out.reals[row] = known ? product(user, item) : std::numeric_limits<double>::quiet_NaN();
      if (known || !drop_) return fault;
      const size_t unknown = user == nullptr ? 0 : 1;
      return "column '" + names_[unknown] + "': unknown id " + std::to_string(ids[unknown]);
    });
  }

 private:
  std::string id_of(const Run& run, size_t input, uint32_t row, int32_t& id) const {
    const Column& in = run.in(inputs_[input]);
    if (!in.valid(row)) return missing(input);
    const double value = Numbers(in)[row];
    const bool whole = value >= std::numeric_limits<int32_t>::min() &&
                       value <= std::numeric_limits<int32_t>::max() && value == std::floor(value);
    if (!whole) {
      return "column '" + names_[input] + "': " + java_double(value) + " is not a 32-bit integer";
    }
    id = static_cast<int32_t>(value);
    return {};
  }

  // Computed in floats, each step rounded, in order.
  double product(const float* a, const float* b) const {
    float sum = 0;
    for (size_t i = 0; i < rank_; ++i) {
      const auto term = static_cast<float>(static_cast<double>(a[i]) * static_cast<double>(b[i]));
      sum = static_cast<float>(static_cast<double>(sum) + static_cast<double>(term));
    }
    return static_cast<double>(sum);
  }

  size_t rank_;
  Factors users_, items_;
  bool drop_;
};

// Returns the consequents that the row does not contain, of rules whose antecedents it contains.
class FpGrowth final : public ColumnStage {
 public:
  explicit FpGrowth(StageSpec& spec)
      : ColumnStage(spec), consequents_(spec.text_ids(stages::fp_growth::consequents)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
    const auto counts = spec.integers(stages::fp_growth::counts);
    const std::vector<TextId> items = spec.text_ids(stages::fp_growth::antecedents);
    if (counts.size() != consequents_.size()) spec.fail("expected a count for each consequent");
    size_t at = 0;
    for (const int32_t count : counts) {
      if (count < 1 || static_cast<size_t>(count) > items.size() - at) {
        spec.fail("the counts exceed the number of antecedents");
        return;
      }
      antecedents_.emplace_back(items.begin() + static_cast<ptrdiff_t>(at),
                                items.begin() + static_cast<ptrdiff_t>(at) + count);
      at += static_cast<size_t>(count);
    }
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    const bool items = in.type == Type::List && is_text(in.element);
    if (!items && !all_missing(in, rows)) return mismatch(0, in, "a list of strings");
    Column& out = run.out(outputs_[0], Type::List, rows, Type::String);
    std::vector<TextId> held;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      out.start_row(row);
      if (in.valid(row)) {
        const auto texts = in.row_texts(row);
        held.assign(texts.begin(), texts.end());
        std::sort(held.begin(), held.end());
        answer(held, out.texts);
      }
      out.end_row();
    }
    return {};
  }

 private:
  void answer(const std::vector<TextId>& held, std::vector<TextId>& out) const {
    const auto has = [&held](TextId item) {
      return std::binary_search(held.begin(), held.end(), item);
    };
    const auto begin = static_cast<ptrdiff_t>(out.size());
    for (size_t i = 0; i < consequents_.size(); ++i) {
      const TextId consequent = consequents_[i];
      if (has(consequent)) continue;
      if (!std::all_of(antecedents_[i].begin(), antecedents_[i].end(), has)) continue;
      if (std::find(out.begin() + begin, out.end(), consequent) == out.end()) {
        out.push_back(consequent);
      }
    }
  }

  std::vector<TextId> consequents_;
  std::vector<std::vector<TextId>> antecedents_;
};

constexpr StageKind kRecommendKinds[] = {
    {stages::als::kind, make_stage<Als>},
    {stages::fp_growth::kind, make_stage<FpGrowth>},
};

}  // namespace

std::span<const StageKind> recommend_kinds() { return kRecommendKinds; }

}  // namespace serval::tabular
