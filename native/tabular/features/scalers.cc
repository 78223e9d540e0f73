// Kinds that scale vectors value by value: scale, min_max_scaler, normalizer. Hot path; any
// thread. Source: tabular.md 5.3
#include <algorithm>
#include <cmath>

#include "tabular/features/columns.h"
#include "tabular/features/kinds.h"

namespace serval::tabular {
namespace {

// (x - shift) * scale, each where it is there.
class Scale final : public VectorStage {
 public:
  explicit Scale(StageSpec& spec)
      : VectorStage(spec, !spec.has(stages::scale::shift)),
        shift_(spec.reals(stages::scale::shift)),
        scale_(spec.reals(stages::scale::scale)),
        clamp_(spec.flag(stages::scale::clamp)),
        has_size_(spec.has(stages::scale::shift) || spec.has(stages::scale::scale)) {
    if (spec.has(stages::scale::shift) && spec.has(stages::scale::scale) &&
        shift_.size() != scale_.size()) {
      spec.fail("expected equal counts of shifts and scales");
    }
    has_shift_ = spec.has(stages::scale::shift);
    has_scale_ = spec.has(stages::scale::scale);
  }

 private:
  std::string answer(const VectorRow& in, Column& out, size_t&) const override {
    if (has_size_) {
      std::string fault = wrong_size(has_shift_ ? shift_.size() : scale_.size(), in);
      if (!fault.empty()) return fault;
    }
    if (out.sparse) {
      out.indices.insert(out.indices.end(), in.indices, in.indices + in.count);
      in.for_each([&](size_t index, double value) { out.reals.push_back(scaled(index, value)); });
      return {};
    }
    double* values = append_dense(out, in.size);
    if (in.indices == nullptr) {
      for (size_t i = 0; i < in.size; ++i) values[i] = scaled(i, in.values[i]);
      return {};
    }
    in.for_each([values](size_t index, double value) { values[index] = value; });
    for (size_t i = 0; i < in.size; ++i) values[i] = scaled(i, values[i]);
    return {};
  }

  double scaled(size_t index, double value) const {
    if (has_shift_) value -= shift_[index];
    if (has_scale_) value *= scale_[index];
    if (!clamp_) return value;
    return value > 1 ? 1 : value < -1 ? -1 : value;
  }

  std::span<const double> shift_, scale_;
  bool clamp_, has_size_, has_shift_ = false, has_scale_ = false;
};

class MinMaxScaler final : public VectorStage {
 public:
  explicit MinMaxScaler(StageSpec& spec)
      : VectorStage(spec, false),
        low_(spec.reals(stages::min_max_scaler::low)),
        scale_(spec.reals(stages::min_max_scaler::scale)),
        min_(spec.real(stages::min_max_scaler::min)),
        middle_((min_ + spec.real(stages::min_max_scaler::max)) / 2) {
    if (low_.size() != scale_.size()) spec.fail("expected equal counts of lows and scales");
  }

 private:
  std::string answer(const VectorRow& in, Column& out, size_t&) const override {
    std::string fault = wrong_size(low_.size(), in);
    if (!fault.empty()) return fault;
    double* values = append_dense(out, in.size);
    in.for_each([values](size_t index, double value) { values[index] = value; });
    for (size_t i = 0; i < in.size; ++i) {
      if (std::isnan(values[i])) continue;
      values[i] = scale_[i] == 0 ? middle_ : (values[i] - low_[i]) * scale_[i] + min_;
    }
    return {};
  }

  std::span<const double> low_, scale_;
  double min_, middle_;
};

class Normalizer final : public VectorStage {
 public:
  explicit Normalizer(StageSpec& spec)
      : VectorStage(spec, true), p_(spec.real(stages::normalizer::p)) {
    if (!(p_ >= 1)) spec.fail("expected a norm of 1 or more");
  }

 private:
  std::string answer(const VectorRow& in, Column& out, size_t&) const override {
    const double norm = norm_of({in.values, in.count});
    if (out.sparse) out.indices.insert(out.indices.end(), in.indices, in.indices + in.count);
    for (size_t i = 0; i < in.count; ++i) {
      out.reals.push_back(norm == 0 ? in.values[i] : in.values[i] / norm);
    }
    return {};
  }

  double norm_of(std::span<const double> values) const {
    double sum = 0;
    if (std::isinf(p_)) {
      for (const double value : values) sum = std::max(sum, std::abs(value));
      return sum;
    }
    if (p_ == 1) {
      for (const double value : values) sum += std::abs(value);
      return sum;
    }
    if (p_ == 2) {
      for (const double value : values) sum += value * value;
      return std::sqrt(sum);
    }
    for (const double value : values) sum += std::pow(std::abs(value), p_);
    return std::pow(sum, 1 / p_);
  }

  double p_;
};

constexpr StageKind kScalersKinds[] = {
    {stages::scale::kind, make_stage<Scale>},
    {stages::min_max_scaler::kind, make_stage<MinMaxScaler>},
    {stages::normalizer::kind, make_stage<Normalizer>},
};

}  // namespace

std::span<const StageKind> scaler_kinds() { return kScalersKinds; }

}  // namespace serval::tabular
