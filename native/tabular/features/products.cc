// Kinds that multiply values of vectors: interaction, polynomial_expansion, feature_products. Hot
// path: run; any thread. Source: tabular.md 5.3
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/limits.h"
#include "tabular/features/columns.h"
#include "tabular/features/kinds.h"
#include "tabular/java/number_text.h"

namespace serval::tabular {
namespace {

// All products of one value of each input.
class Interaction final : public ColumnStage {
 public:
  explicit Interaction(StageSpec& spec) : ColumnStage(spec) {
    spec.expect_inputs(1, SIZE_MAX);
    spec.expect_outputs(1, 1);
    if (const char* fault = read(spec); fault != nullptr) spec.fail(fault);
  }

  Status run(Run& run, Rows rows) const override {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const Column& in = run.in(inputs_[k]);
      if (!Numbers::reads(in) && !Vectors::reads(in) && !all_missing(in, rows)) {
        return mismatch(k, in, "a number or a vector");
      }
    }
    Column& out = run.out(outputs_[0], Type::Vector, rows);
    out.sparse = true;
    std::vector<Term> terms, encoded, products;
    return each_row(run, rows, out, [&](uint32_t row) {
      std::string fault;
      size_t size = 1;
      terms.assign(1, {0, 1.0});
      // The last input first: its index is the slowest of the first ones' products.
      for (size_t k = inputs_.size(); k-- > 0 && fault.empty();) {
        encoded.clear();
        size_t width = 0;
        fault = encode(run.in(inputs_[k]), k, row, encoded, width);
        if (fault.empty() && (width > kRowProductsMax || size * width > kRowProductsMax)) {
          fault = "more than " + std::to_string(kRowProductsMax) + " products";
        }
        products.clear();
        for (const Term& outer : encoded) {
          for (const Term& inner : terms) {
            products.push_back({inner.index + outer.index * size, inner.value * outer.value});
          }
        }
        terms.swap(products);
        size *= width;
      }
      if (!fault.empty()) return fault;
      for (const Term& term : terms) {
        out.indices.push_back(static_cast<int32_t>(term.index));
        out.reals.push_back(term.value);
      }
      out.end_sparse_row(static_cast<uint32_t>(size));
      return fault;
    });
  }

 private:
  struct Term {
    size_t index;
    double value;
  };
  struct Feature {
    size_t offset, outputs;
  };
  struct Encoder {
    std::vector<Feature> features;  // empty: numbers, as many as there are
    size_t size;
  };

  // Returns what is wrong, or null.
  const char* read(StageSpec& spec) {
    const auto counts = spec.integers(stages::interaction::counts),
               features = spec.integers(stages::interaction::features);
    if (counts.size() != inputs_.size()) return "expected a count for each input";
    size_t at = 0;
    for (const int32_t count : counts) {
      const auto width = static_cast<size_t>(count);
      if (count < 0 || width > features.size() - at)
        return "the counts exceed the number of features";
      Encoder encoder{{}, 0};
      for (const int32_t outputs : features.subspan(at, width)) {
        if (outputs < 1) return "expected features of 1 value or more";
        encoder.features.push_back({encoder.size, static_cast<size_t>(outputs)});
        encoder.size += static_cast<size_t>(outputs);
      }
      at += width;
      encoders_.push_back(std::move(encoder));
    }
    return nullptr;
  }

  std::string encode(const Column& in, size_t input, uint32_t row, std::vector<Term>& terms,
                     size_t& width) const {
    if (!in.valid(row)) return missing(input);
    const Encoder& encoder = encoders_[input];
    const bool is_vector = Vectors::reads(in);
    width = encoder.features.empty() ? (is_vector ? in.length(row) : 1) : encoder.size;
    const auto put = [&](size_t index, double value) -> std::string {
      const Feature feature =
          encoder.features.empty() ? Feature{index, 1} : encoder.features[index];
      if (feature.outputs == 1) {
        terms.push_back({feature.offset, value});
        return {};
      }
      if (!(value >= 0 && value < static_cast<double>(feature.outputs)) ||
          value != std::floor(value)) {
        return "column '" + names_[input] + "': " + java_double(value) + " is not an index below " +
               std::to_string(feature.outputs);
      }
      terms.push_back({feature.offset + static_cast<size_t>(value), 1.0});
      return {};
    };
    if (!is_vector) {
      if (encoder.features.size() > 1) return "column '" + names_[input] + "' is not a vector";
      return put(0, Numbers(in)[row]);
    }
    Vectors vectors(in);
    const VectorRow vector = vectors[row];
    if (!encoder.features.empty()) {
      std::string fault = wrong_size(encoder.features.size(), vector, input);
      if (!fault.empty()) return fault;
    }
    std::string fault;
    vector.for_each([&](size_t index, double value) {
      if (fault.empty()) fault = put(index, value);
    });
    return fault;
  }

  std::vector<Encoder> encoders_;
};

// (n + degree) over degree, or nothing where that is too many.
std::optional<size_t> polynomial_size(size_t n, size_t degree) {
  double size = 1;
  for (size_t k = 1; k <= degree; ++k) {
    size = size * static_cast<double>(n + k) / static_cast<double>(k);
    if (size > static_cast<double>(kRowProductsMax)) return std::nullopt;
  }
  return static_cast<size_t>(std::llround(size));
}

// All products of up to `degree` values. The order is Spark's: those of the first values, then each
// power of the next value with what is left of the degree for them.
class PolynomialExpansion final : public VectorStage {
 public:
  explicit PolynomialExpansion(StageSpec& spec)
      : VectorStage(spec, true), degree_(spec.integer(stages::polynomial_expansion::degree)) {
    if (degree_ < 1 || degree_ > kDegreeMax) {
      spec.fail("expected a degree of 1 to " + std::to_string(kDegreeMax));
    }
  }

 private:
  static constexpr int32_t kDegreeMax = 64;

  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    const auto degree = static_cast<size_t>(degree_);
    const auto total = polynomial_size(in.size, degree);
    if (!total) {
      return "column '" + names_[0] + "': a vector of " + std::to_string(in.size) +
             " values has too many products";
    }
    size = *total - 1;
    const size_t begin = out.reals.size();
    if (!out.sparse) out.reals.resize(begin + size);
    expand(in, in.count, degree, 1, out, begin, 0);
    return {};
  }

  // The products of the first `count` values of the row with `factor`, of up to `degree` of them;
  // the first of them is number `at` of all products (number 0 is the empty one, left out).
  void expand(const VectorRow& in, size_t count, size_t degree, double factor, Column& out,
              size_t begin, size_t at) const {
    if (factor == 0) return;
    const auto put = [&](size_t number, double value) {
      if (number == 0) return;
      if (!out.sparse) {
        out.reals[begin + number - 1] = value;
      } else {
        out.reals.push_back(value);
        out.indices.push_back(static_cast<int32_t>(number - 1));
      }
    };
    if (degree == 0 || count == 0) return put(at, factor);
    if (degree == 1) {  // no recursion, which would be as deep as there are values
      put(at, factor);
      for (size_t i = 0; i < count; ++i) {
        const size_t feature = in.indices == nullptr ? i : static_cast<size_t>(in.indices[i]);
        if (const double product = factor * in.values[i]; product != 0) {
          put(at + 1 + feature, product);
        }
      }
      return;
    }
    const size_t last = count - 1;
    const size_t feature = in.indices == nullptr ? last : static_cast<size_t>(in.indices[last]);
    double power = factor;
    for (size_t i = 0; i <= degree && power != 0; ++i) {
      expand(in, last, degree - i, power, out, begin, at);
      at += *polynomial_size(feature, degree - i);
      power *= in.values[last];
    }
  }

  int32_t degree_;
};

// Products of powers of a vector's values.
class FeatureProducts final : public VectorStage {
 public:
  explicit FeatureProducts(StageSpec& spec)
      : VectorStage(spec, false),
        counts_(spec.integers(stages::feature_products::counts)),
        indices_(spec.integers(stages::feature_products::indices)),
        powers_(spec.integers(stages::feature_products::powers)) {
    size_t total = 0;
    for (const int32_t count : counts_) total += count < 0 ? SIZE_MAX / 4 : size_t(count);
    if (total != indices_.size() || indices_.size() != powers_.size()) {
      spec.fail("expected an index and a power for each factor");
    }
    for (const int32_t index : indices_) {
      if (index < 0) spec.fail("an index of " + std::to_string(index));
      needed_ = std::max(needed_, static_cast<size_t>(std::max(index, 0)) + 1);
    }
  }

 private:
  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    if (in.size < needed_) {
      return "column '" + names_[0] + "': expected a vector of " + std::to_string(needed_) +
             " values or more, got " + std::to_string(in.size);
    }
    size = counts_.size();
    double* values = append_dense(out, size);
    size_t at = 0;
    for (size_t k = 0; k < counts_.size(); ++k) {
      double product = 1;
      for (const size_t end = at + static_cast<size_t>(counts_[k]); at < end; ++at) {
        product *= std::pow(in.at(static_cast<size_t>(indices_[at])), powers_[at]);
      }
      values[k] = product;
    }
    return {};
  }

  std::span<const int32_t> counts_, indices_, powers_;
  size_t needed_ = 0;
};

constexpr StageKind kProductsKinds[] = {
    {stages::interaction::kind, make_stage<Interaction>},
    {stages::polynomial_expansion::kind, make_stage<PolynomialExpansion>},
    {stages::feature_products::kind, make_stage<FeatureProducts>},
};

}  // namespace

std::span<const StageKind> product_kinds() { return kProductsKinds; }

}  // namespace serval::tabular
