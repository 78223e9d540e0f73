// Kinds on one number of a row: bucketizer, binarizer, imputer, coalesce, math_unary, math_binary.
// Hot path; any thread. Source: tabular.md 5.3
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "base/limits.h"
#include "tabular/features/columns.h"
#include "tabular/features/kinds.h"
#include "tabular/java/number_text.h"

namespace serval::tabular {
namespace {

// Java's order of doubles: -0.0 < 0.0.
bool total_less(double a, double b) {
  if (a < b) return true;
  if (a > b) return false;
  return std::bit_cast<int64_t>(a) < std::bit_cast<int64_t>(b);
}

class Bucketizer final : public NumberStage {
 public:
  explicit Bucketizer(StageSpec& spec)
      : NumberStage(spec, spec.flag(stages::bucketizer::skip) ? Missing::Refused : Missing::Passes),
        splits_(spec.reals(stages::bucketizer::splits)),
        keep_(spec.flag(stages::bucketizer::keep)) {
    if (keep_ && spec.flag(stages::bucketizer::skip)) spec.fail("expected one of keep and skip");
    const bool ascends = std::is_sorted(splits_.begin(), splits_.end(), std::less_equal<>()) &&
                         std::none_of(splits_.begin(), splits_.end(),
                                      [](double split) { return std::isnan(split); });
    if (splits_.size() < 2 || !ascends) spec.fail("expected two splits or more, ascending");
  }

 private:
  std::string answer(double in, double& out) const override {
    if (std::isnan(in)) {
      out = static_cast<double>(splits_.size() - 1);
      return keep_ ? std::string() : "column '" + names_[0] + "' is NaN";
    }
    if (in == splits_.back()) {
      out = static_cast<double>(splits_.size() - 2);
      return {};
    }
    const auto above = std::upper_bound(splits_.begin(), splits_.end(), in, total_less);
    if (above == splits_.begin() || above == splits_.end()) {
      return "column '" + names_[0] + "': " + java_double(in) + " is outside of the buckets, " +
             java_double(splits_.front()) + " to " + java_double(splits_.back());
    }
    out = static_cast<double>(above - splits_.begin() - 1);
    return {};
  }

  std::span<const double> splits_;
  bool keep_;
};

std::string too_wide(const VectorRow& vector) {
  return "a dense vector of " + std::to_string(vector.size) + " values";
}

// A number -> Double, a Vector -> Vector.
class Binarizer final : public ColumnStage {
 public:
  explicit Binarizer(StageSpec& spec)
      : ColumnStage(spec),
        threshold_(spec.real(stages::binarizer::threshold)),
        missing_is_zero_(spec.flag(stages::binarizer::missingIsZero)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    if (Vectors::reads(in)) return vectors(run, in, rows);
    if (!Numbers::reads(in) && !all_missing(in, rows)) {
      return mismatch(0, in, "a number or a vector");
    }
    const Numbers numbers(in);
    Column& out = run.out(outputs_[0], Type::Double, rows);
    return each_row(run, rows, out, [&](uint32_t row) {
      if (in.valid(row)) out.reals[row] = numbers[row] > threshold_ ? 1 : 0;
      return in.valid(row) || missing_is_zero_ ? std::string() : missing(0);
    });
  }

 private:
  Status vectors(Run& run, const Column& in, Rows rows) const {
    Vectors vectors(in);
    Column& out = run.out(outputs_[0], Type::Vector, rows);
    out.sparse = in.sparse && threshold_ >= 0;
    return each_row(run, rows, out, [&](uint32_t row) {
      if (!in.valid(row)) return missing(0);
      const VectorRow vector = vectors[row];
      if (!out.sparse && vector.size > kTableCellMax) return too_wide(vector);
      if (out.sparse) {
        vector.for_each([&](size_t index, double value) {
          if (!(value > threshold_)) return;
          out.indices.push_back(static_cast<int32_t>(index));
          out.reals.push_back(1);
        });
        out.end_sparse_row(static_cast<uint32_t>(vector.size));
        return std::string();
      }
      // Spark answers 1 for NaN where the threshold is below 0, and 0 else.
      double* values = append_dense(out, vector.size);
      if (threshold_ < 0) std::fill(values, values + vector.size, 1);
      vector.for_each([&](size_t index, double value) {
        if (threshold_ < 0) values[index] = value <= threshold_ ? 0 : 1;
        else values[index] = value > threshold_ ? 1 : 0;
      });
      out.end_row();
      return std::string();
    });
  }

  double threshold_;
  bool missing_is_zero_;
};

// A double as Spark casts it to a type of `bits` bits: towards 0, at most the extremes.
int64_t saturated(double value, Type type) {
  if (std::isnan(value)) return 0;
  const int bits = type == Type::Int8    ? 8
                   : type == Type::Int16 ? 16
                   : type == Type::Int32 ? 32
                                         : 64;
  const double high = std::ldexp(1.0, bits - 1);
  if (value >= high) return std::numeric_limits<int64_t>::max() >> (64 - bits);
  if (value < -high) return std::numeric_limits<int64_t>::min() >> (64 - bits);
  return static_cast<int64_t>(value);
}

class Imputer final : public ColumnStage {
 public:
  explicit Imputer(StageSpec& spec)
      : ColumnStage(spec),
        surrogate_(spec.real(stages::imputer::surrogate)),
        missing_value_(spec.real(stages::imputer::missingValue)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    if (!is_real(in.type) && !is_integer(in.type)) {
      if (!all_missing(in, rows)) return mismatch(0, in, "a number");
      Column& out = run.out(outputs_[0], Type::Double, rows);
      for (uint32_t i = 0; i < rows.count; ++i) out.reals[rows[i]] = surrogate_;
      return {};
    }
    const Numbers numbers(in);
    Column& out = run.out(outputs_[0], in.type, rows);
    const double real = in.type == Type::Float ? static_cast<float>(surrogate_) : surrogate_;
    const int64_t integer = is_integer(in.type) ? saturated(surrogate_, in.type) : 0;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      const bool replaced = !in.valid(row) || is_missing_value(numbers[row]);
      if (is_real(in.type)) out.reals[row] = replaced ? real : in.reals[row];
      else out.integers[row] = replaced ? integer : in.integers[row];
    }
    return {};
  }

 private:
  bool is_missing_value(double value) const {
    return value == missing_value_ || (std::isnan(value) && std::isnan(missing_value_));
  }
  double surrogate_, missing_value_;
};

// The first input of a row that is there.
class Coalesce final : public ColumnStage {
 public:
  explicit Coalesce(StageSpec& spec) : ColumnStage(spec) {
    spec.expect_inputs(1, SIZE_MAX);
    spec.expect_outputs(1, 1);
  }

  Status run(Run& run, Rows rows) const override {
    std::optional<size_t> first;  // of the inputs with values
    bool same = true;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const Column& in = run.in(inputs_[k]);
      if (all_missing(in, rows)) continue;
      if (!first) first = k;
      const Column& like = run.in(inputs_[*first]);
      if (in.type == like.type && in.element == like.element && in.scale == like.scale) continue;
      if (!Numbers::reads(in) || !Numbers::reads(like)) {
        return mismatch(k, in, "what '" + names_[*first] + "' is");
      }
      same = false;
    }
    const Column& like = run.in(inputs_[first.value_or(0)]);
    if (same && (like.type == Type::Vector || like.type == Type::List)) {
      return lists(run, rows, like);
    }
    const Type type = !same || like.type == Type::Any ? Type::Double : like.type;
    Column& out = run.out(outputs_[0], type, rows);
    if (type == Type::Decimal) {
      out.precision = like.precision;
      out.scale = like.scale;
    }
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      const Column* in = first_of(run, row);
      if (in == nullptr) out.set_missing(row);
      else if (same) out.set(row, in->value(row));
      else out.reals[row] = Numbers(*in)[row];
    }
    return {};
  }

 private:
  const Column* first_of(const Run& run, uint32_t row) const {
    for (const uint32_t input : inputs_) {
      if (run.in(input).valid(row)) return &run.in(input);
    }
    return nullptr;
  }

  Status lists(Run& run, Rows rows, const Column& like) const {
    Column& out = run.out(outputs_[0], like.type, rows, like.element);
    const Storage storage = storage_of(like.type == Type::List ? like.element : like.type);
    return each_row(run, rows, out, [&](uint32_t row) {
      const Column* in = first_of(run, row);
      if (in == nullptr) return std::string();
      if (storage == Storage::Text) {
        const auto texts = in->row_texts(row);
        out.texts.insert(out.texts.end(), texts.begin(), texts.end());
      } else if (storage == Storage::Integer) {
        const auto integers = in->row_integers(row);
        out.integers.insert(out.integers.end(), integers.begin(), integers.end());
      } else if (!in->sparse) {
        const auto reals = in->row_reals(row);
        out.reals.insert(out.reals.end(), reals.begin(), reals.end());
      } else {
        const VectorRow vector = Vectors(*in)[row];
        if (vector.size > kTableCellMax) return too_wide(vector);
        double* values = append_dense(out, vector.size);
        vector.for_each([values](size_t index, double value) { values[index] = value; });
      }
      out.end_row();
      return std::string();
    });
  }
};

using Unary = stages::MathUnary;

// Java's Math.round: to a 64-bit integer, halves upwards.
double java_round(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return 0x1p63;
  if (value <= -0x1p63) return -0x1p63;
  const double floor = std::floor(value);
  return value - floor >= 0.5 ? floor + 1 : floor;
}

class MathUnary final : public NumberStage {
 public:
  explicit MathUnary(StageSpec& spec)
      : NumberStage(spec, Missing::Refused),
        operation_(spec.choice(stages::math_unary::operation)) {}

 private:
  std::string answer(double in, double& out) const override {
    switch (operation_) {
      case Unary::Log: out = std::log(in); break;
      case Unary::Exp: out = std::exp(in); break;
      case Unary::Sqrt: out = std::sqrt(in); break;
      case Unary::Sin: out = std::sin(in); break;
      case Unary::Cos: out = std::cos(in); break;
      case Unary::Tan: out = std::tan(in); break;
      case Unary::Abs: out = std::abs(in); break;
      case Unary::Logit:
        if (in < 0 || in > 1) {
          return "column '" + names_[0] + "': logit of " + java_double(in) +
                 ", which is not within 0 and 1";
        }
        out = std::log(in / (1 - in));
        break;
      case Unary::Floor: out = std::floor(in); break;
      case Unary::Ceil: out = std::ceil(in); break;
      case Unary::RoundOf: out = java_round(in); break;
    }
    return {};
  }
  Unary operation_;
};

class MathBinary final : public ColumnStage {
 public:
  explicit MathBinary(StageSpec& spec)
      : ColumnStage(spec), operation_(spec.choice(stages::math_binary::operation)) {
    const bool has_a = spec.flag(stages::math_binary::hasA),
               has_b = spec.flag(stages::math_binary::hasB);
    if (spec.has(stages::math_binary::da)) da_ = spec.real(stages::math_binary::da);
    if (spec.has(stages::math_binary::db)) db_ = spec.real(stages::math_binary::db);
    spec.expect_outputs(1, 1);
    const size_t count = size_t{has_a} + size_t{has_b};
    spec.expect_inputs(count, count);
    if ((!has_a && !da_) || (!has_b && !db_))
      spec.fail("an operand is neither a column nor a constant");
    if (has_a) a_ = 0;
    if (has_b) b_ = has_a ? 1 : 0;
  }

  Status run(Run& run, Rows rows) const override {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const Column& in = run.in(inputs_[k]);
      if (!Numbers::reads(in) && !all_missing(in, rows)) return mismatch(k, in, "a number");
    }
    Column& out = run.out(outputs_[0], Type::Double, rows);
    return each_row(run, rows, out, [&](uint32_t row) {
      const std::optional<double> a = operand(run, a_, da_, row), b = operand(run, b_, db_, row);
      if (!a || !b) return missing(a ? *b_ : *a_);
      out.reals[row] = answer(*a, *b);
      return std::string();
    });
  }

 private:
  using Operation = stages::MathBinary;

  std::optional<double> operand(const Run& run, std::optional<size_t> input,
                                std::optional<double> fallback, uint32_t row) const {
    if (!input) return fallback;
    const Column& in = run.in(inputs_[*input]);
    return in.valid(row) ? std::optional(Numbers(in)[row]) : fallback;
  }

  double answer(double a, double b) const {
    switch (operation_) {
      case Operation::Add: return a + b;
      case Operation::Sub: return a - b;
      case Operation::Mul: return a * b;
      case Operation::Div: return a / b;
      case Operation::Rem: return std::fmod(a, b);
      case Operation::LogN: return std::log(a) / std::log(b);
      case Operation::Pow: return java_pow(a, b);
      case Operation::Min: return std::isnan(a) || a < b ? a : b;
      case Operation::Max: return std::isnan(a) || a > b ? a : b;
    }
    return 0;
  }
  // Java: NaN where C has 1.
  static double java_pow(double a, double b) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    if (std::isnan(b) || (std::abs(a) == 1 && std::isinf(b))) return kNaN;
    return std::pow(a, b);
  }

  Operation operation_;
  std::optional<size_t> a_, b_;
  std::optional<double> da_, db_;
};

constexpr StageKind kNumbersKinds[] = {
    {stages::bucketizer::kind, make_stage<Bucketizer>},
    {stages::binarizer::kind, make_stage<Binarizer>},
    {stages::imputer::kind, make_stage<Imputer>},
    {stages::coalesce::kind, make_stage<Coalesce>},
    {stages::math_unary::kind, make_stage<MathUnary>},
    {stages::math_binary::kind, make_stage<MathBinary>},
};

}  // namespace

std::span<const StageKind> number_kinds() { return kNumbersKinds; }

}  // namespace serval::tabular
