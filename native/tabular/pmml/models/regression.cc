// Stage kind pmml.regression: RegressionModel's tables of numeric predictors, categorical ones and
// products, with their normalisation. Hot path. Source: tabular.md 3.2.
#include <algorithm>
#include <string>

#include "tabular/pmml/models/inputs.h"
#include "tabular/pmml/models/kinds.h"
#include "tabular/pmml/models/links.h"

namespace serval::tabular::pmml {
namespace {

// Predictors of one categorical field that follow each other: the first that matches counts. Codes
// are as ScalarColumn reads them; of equal ones only the first is kept, in ascending order.
struct Category {
  double code;
  double coefficient;
};
struct CategoryGroup {
  uint32_t input;
  std::vector<Category> categories;
};

struct Factor {
  uint32_t input;
  double exponent;
  double coefficient;
};

struct Product {
  double coefficient;
  std::vector<uint32_t> inputs;
};

struct Table {
  double intercept;
  std::vector<Factor> factors;
  std::vector<CategoryGroup> groups;
  std::vector<Product> products;
  bool empty() const {
    return factors.empty() && groups.empty() && products.empty() && intercept == 0;
  }
};

using Normalization = stages::RegressionNormalization;

// The link whose inverse the normalization of one table's number is; nothing: simplemax.
std::optional<Link> link_of(Normalization normalization) {
  switch (normalization) {
    case Normalization::None: return Link::Identity;
    case Normalization::Simplemax: return std::nullopt;
    case Normalization::Softmax:
    case Normalization::Logit: return Link::Logit;
    case Normalization::Probit: return Link::Probit;
    case Normalization::Cloglog: return Link::Cloglog;
    case Normalization::Exp: return Link::Log;
    case Normalization::Loglog: return Link::Loglog;
    case Normalization::Cauchit: return Link::Cauchit;
  }
  return std::nullopt;
}

class Regression final : public Stage {
 public:
  explicit Regression(StageSpec& spec)
      : inputs_(spec),
        place_(spec.place),
        classification_(spec.flag(stages::pmml_regression::classification)),
        ordinal_(spec.flag(stages::pmml_regression::ordinal)),
        single_(spec.flag(stages::pmml_regression::single)),
        normalization_(spec.choice(stages::pmml_regression::normalization)),
        output_(spec.outputs.empty() ? 0 : spec.outputs[0]) {
    const auto intercepts = spec.reals(stages::pmml_regression::intercepts);
    tables_.resize(intercepts.size());
    for (size_t t = 0; t < tables_.size(); ++t) tables_[t].intercept = intercepts[t];
    read_factors(spec);
    read_categories(spec);
    read_products(spec);
    check_normalization(spec);
  }

  OnFailure on_failure() const override { return OnFailure::Own; }
  Status run(Run& run, Rows rows) const override {
    Inputs inputs;
    if (Status opened = inputs.open(run, inputs_); !opened.ok()) return opened;
    if (!classification_) {
      Column& out = run.out(output_, Type::Double, rows);
      for (uint32_t i = 0; i < rows.count; ++i) {
        RowReader reader(inputs, rows[i]);
        double sum = 0;
        if (evaluate(tables_[0], reader, sum)) {
          out.reals[rows[i]] = mean(sum);
          continue;
        }
        out.set_missing(rows[i]);
        if (reader.failed() == nullptr) continue;
        if (Status refused = run.refuse(*reader.failed()); !refused.ok()) return refused;
      }
      return {};
    }
    Column& out = run.out(output_, Type::Vector, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      RowReader reader(inputs, rows[i]);
      Status refused;
      if (!classify(reader, run.frame.scratch, out)) {
        drop_added(out, tables_.size());
        refused = run.refuse(rows[i], place_, std::string(kNoShares));
      } else if (reader.failed() != nullptr) {
        refused = run.refuse(*reader.failed());
      }
      if (!refused.ok()) return refused;
    }
    return {};
  }

 private:
  void read_factors(StageSpec& spec) {
    const auto offsets = spec.integers(stages::pmml_regression::numeric_rows);
    const auto at = spec.integers(stages::pmml_regression::numeric_inputs);
    const auto exponents = spec.reals(stages::pmml_regression::numeric_exponents);
    const auto coefficients = spec.reals(stages::pmml_regression::numeric_coefficients);
    if (!good_offsets(offsets, tables_.size(), at.size()) || exponents.size() != at.size() ||
        coefficients.size() != at.size() || !good_indices(at, 0, inputs_.count())) {
      return spec.fail("numeric predictors do not fit each other");
    }
    for (size_t t = 0; t < tables_.size(); ++t) {
      for (auto i = static_cast<size_t>(offsets[t]); i < static_cast<size_t>(offsets[t + 1]); ++i) {
        inputs_.number(spec, at[i]);
        tables_[t].factors.push_back({static_cast<uint32_t>(at[i]), exponents[i], coefficients[i]});
      }
    }
  }

  void read_categories(StageSpec& spec) {
    const auto offsets = spec.integers(stages::pmml_regression::category_rows);
    const auto at = spec.integers(stages::pmml_regression::category_inputs);
    const auto values = spec.values(stages::pmml_regression::category_values);
    const auto coefficients = spec.reals(stages::pmml_regression::category_coefficients);
    if (!good_offsets(offsets, tables_.size(), at.size()) || values.size() != at.size() ||
        coefficients.size() != at.size() || !good_indices(at, 0, inputs_.count())) {
      return spec.fail("categorical predictors do not fit each other");
    }
    for (size_t t = 0; t < tables_.size(); ++t) {
      auto& groups = tables_[t].groups;
      const auto begin = static_cast<size_t>(offsets[t]);
      for (auto i = begin; i < static_cast<size_t>(offsets[t + 1]); ++i) {
        inputs_.compare(spec, at[i], values[i]);
        const auto input = static_cast<uint32_t>(at[i]);
        if (i == begin || groups.back().input != input) groups.push_back({input, {}});
        groups.back().categories.push_back({code_of(values[i]), coefficients[i]});
      }
      for (CategoryGroup& group : groups) sort(group.categories);
    }
  }

  static void sort(std::vector<Category>& categories) {
    std::stable_sort(categories.begin(), categories.end(),
                     [](const Category& a, const Category& b) { return a.code < b.code; });
    const auto last =
        std::unique(categories.begin(), categories.end(),
                    [](const Category& a, const Category& b) { return a.code == b.code; });
    categories.erase(last, categories.end());
  }

  void read_products(StageSpec& spec) {
    const auto offsets = spec.integers(stages::pmml_regression::product_rows);
    const auto coefficients = spec.reals(stages::pmml_regression::product_coefficients);
    const auto parts = spec.integers(stages::pmml_regression::product_parts);
    const auto at = spec.integers(stages::pmml_regression::product_inputs);
    if (!good_offsets(offsets, tables_.size(), coefficients.size()) ||
        !good_offsets(parts, coefficients.size(), at.size()) ||
        !good_indices(at, 0, inputs_.count())) {
      return spec.fail("predictor terms do not fit each other");
    }
    for (size_t t = 0; t < tables_.size(); ++t) {
      for (auto i = static_cast<size_t>(offsets[t]); i < static_cast<size_t>(offsets[t + 1]); ++i) {
        Product product{coefficients[i], {}};
        for (auto p = static_cast<size_t>(parts[i]); p < static_cast<size_t>(parts[i + 1]); ++p) {
          inputs_.number(spec, at[p]);
          product.inputs.push_back(static_cast<uint32_t>(at[p]));
        }
        tables_[t].products.push_back(std::move(product));
      }
    }
  }

  void check_normalization(StageSpec& spec) {
    const bool shares =
        normalization_ == Normalization::Softmax || normalization_ == Normalization::Simplemax;
    if (classification_ ? tables_.size() < 2 : tables_.size() != 1) {
      return spec.fail("there are " + std::to_string(tables_.size()) + " regression tables");
    }
    if (shares && classification_) {
      simplemax_ = normalization_ == Normalization::Simplemax;
      // A second table that says nothing: the first one's logit, as JPMML has it.
      if (!simplemax_ && tables_.size() == 2 && tables_[1].empty()) {
        link_ = Link::Logit;
      } else {
        shares_ = true;
      }
      if (ordinal_) spec.fail("softmax and simplemax do not fit an ordinal target");
      return;
    }
    const std::optional<Link> link = link_of(normalization_);
    if (!link.has_value() || (classification_ && *link == Link::Log)) {
      return spec.fail("the normalization does not fit the model");
    }
    link_ = *link;
    if (classification_ && !ordinal_ && tables_.size() > 2 && link_ != Link::Identity &&
        link_ != Link::Logit) {
      spec.fail("the normalization does not fit more than two categories");
    }
  }

  // Rounds a number to the model's precision: a float if it computes with floats.
  double kept(double value) const {
    return single_ ? static_cast<double>(static_cast<float>(value)) : value;
  }

  // e^x as JPMML has it for floats: a power of e to seven digits.
  static double float_exp(double x) {
    return static_cast<double>(static_cast<float>(std::pow(2.7182817, x)));
  }

  // The inverse of the link, each step rounded to the model's precision.
  double mean(double x) const {
    if (!single_) return inverse_link(link_, x);
    switch (link_) {
      case Link::Logit: return kept(1 / kept(1 + float_exp(-x)));
      case Link::Cloglog: return kept(1 - float_exp(-float_exp(x)));
      case Link::Loglog: return float_exp(-float_exp(-x));
      case Link::Cauchit: return kept(0.5 + kept(0.31830987F * kept(std::atan(x))));
      case Link::Log: return float_exp(x);
      default: return kept(inverse_link(link_, x));
    }
  }

  // Each float by their sum. False: that is 0.
  bool divide(std::span<double> values) const {
    double sum = 0;
    for (const double value : values) sum = kept(sum + value);
    if (sum == 0) return false;
    for (double& value : values) value = kept(value / sum);
    return true;
  }

  // False: the scores have no shares.
  bool share(std::span<double> values) const {
    if (!single_) return simplemax_ ? simplemax(values) : softmax(values);
    const double most = *std::max_element(values.begin(), values.end());
    if (!simplemax_) {
      for (double& value : values) value = float_exp(kept(value - most));
    }
    return divide(values);
  }

  // False: the result is missing.
  bool evaluate(const Table& table, RowReader& reader, double& sum) const {
    double result = 0;
    for (const Factor& factor : table.factors) {
      if (reader.missing(factor.input)) return false;
      const double x = kept(reader.at(factor.input));
      const double power = factor.exponent == 1 ? x : kept(std::pow(x, factor.exponent));
      result = kept(result + kept(power * kept(factor.coefficient)));
    }
    for (const CategoryGroup& group : table.groups) {
      if (reader.missing(group.input)) {
        if (reader.failed() != nullptr) return false;
        continue;  // the field is left out
      }
      const double code = reader.at(group.input);
      const auto& categories = group.categories;
      const auto found = std::lower_bound(categories.begin(), categories.end(), code,
                                          [](const Category& a, double b) { return a.code < b; });
      if (found != categories.end() && found->code == code) {
        result = kept(result + kept(found->coefficient));
      }
    }
    for (const Product& product : table.products) {
      double value = kept(product.coefficient);
      for (const uint32_t input : product.inputs) {
        if (reader.missing(input)) return false;
        value = kept(value * kept(reader.at(input)));
      }
      result = kept(result + value);
    }
    sum = kept(result + kept(table.intercept));
    return true;
  }

  // False: the scores have no shares; the row is the last one of `out`.
  bool classify(RowReader& reader, std::vector<double>& scratch, Column& out) const {
    scratch.resize(tables_.size());
    for (size_t t = 0; t < tables_.size(); ++t) {
      if (!evaluate(tables_[t], reader, scratch[t])) return true;
    }
    const std::span<double> values = add_row(out, reader.row(), tables_.size());
    std::copy(scratch.begin(), scratch.end(), values.begin());
    if (shares_) return share(values);
    if (ordinal_) {
      cumulate(values);
    } else if (values.size() == 2) {
      values[0] = probability(values[0]);
      values[1] = kept(1.0 - values[0]);
    } else if (link_ == Link::Logit) {
      for (double& value : values) value = single_ ? mean(value) : logistic(value);
      return single_ ? divide(values) : simplemax(values);
    } else {
      double sum = 0;
      for (size_t t = 0; t + 1 < values.size(); ++t) sum = kept(sum + values[t]);
      values.back() = kept(1.0 - sum);
    }
    return true;
  }

  double probability(double value) const {
    if (link_ == Link::Identity) return java_min(java_max(value, 0.0), 1.0);
    return mean(value);
  }

  // Tables give the probability of their category or a smaller one.
  void cumulate(std::span<double> values) const {
    double sum = 0;
    for (size_t t = 0; t + 1 < values.size(); ++t) {
      values[t] = probability(values[t]);
      if (t > 0) values[t] -= sum;
      sum += values[t];
    }
    values.back() = 1.0 - sum;
  }

  InputNames inputs_;
  std::string place_;
  bool classification_, ordinal_, single_;
  bool shares_ = false, simplemax_ = false;
  Normalization normalization_;
  uint32_t output_;
  Link link_ = Link::Identity;
  std::vector<Table> tables_;
};

}  // namespace

std::unique_ptr<Stage> make_regression(StageSpec& spec) {
  spec.expect_outputs(1, 1);
  return std::make_unique<Regression>(spec);
}

}  // namespace serval::tabular::pmml
