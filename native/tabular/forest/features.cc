// Reading a frame's columns as rows of features. Hot path, any thread.
#include "tabular/forest/features.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace serval::tabular {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kLowest = -std::numeric_limits<double>::infinity();
constexpr double kNoCategory = -1;  // in no set

double rounded(double value) { return static_cast<double>(static_cast<float>(value)); }

}  // namespace

ForestFeatures::ForestFeatures(StageSpec& spec, bool vector)
    : place_(spec.place),
      vector_(vector),
      to_float_(spec.integers(stages::forest::round_to_float)) {
  if (vector) {
    spec.expect_inputs(1, 1);
    vector_size_ = spec.integer(stages::forest::vector_size);
    count_ = vector_size_ > 0 ? static_cast<size_t>(vector_size_) : 0;
  } else {
    count_ = spec.inputs.size();
  }
  nan_is_largest_ = spec.flag(stages::forest::nan_is_largest);
  if (spec.failed()) return;
  inputs_.assign(spec.inputs.begin(), spec.inputs.end());
  for (const uint32_t input : inputs_) names_.emplace_back(spec.column_name(input));
  if (to_float_.size() > 1 && to_float_.size() != count_) {
    spec.fail("round_to_float: expected " + std::to_string(count_) + ", got " +
              std::to_string(to_float_.size()));
  }
  read_codes(spec);
}

void ForestFeatures::read_codes(StageSpec& spec) {
  const std::span<const int32_t> counts = spec.integers(stages::forest::category_counts);
  const std::vector<TextId> words = spec.text_ids(stages::forest::categories);
  size_t at = 0;
  for (size_t i = 0; i + 1 < counts.size(); i += 2) {
    const auto feature = static_cast<size_t>(counts[i]);
    const auto count = static_cast<size_t>(counts[i + 1]);
    if (vector_ || counts[i] < 0 || feature >= count_ || counts[i + 1] < 0 ||
        count > words.size() - at) {
      return spec.fail("the categories of feature " + std::to_string(counts[i]) + " do not exist");
    }
    Codes made;
    if (count > 0) {
      const auto first = words.begin() + static_cast<ptrdiff_t>(at);
      const auto [least, most] = std::minmax_element(first, first + static_cast<ptrdiff_t>(count));
      made.first = *least;
      made.numbers.assign(static_cast<size_t>(*most - *least + 1), -1);
      for (size_t j = 0; j < count; ++j) {
        int32_t& number = made.numbers[static_cast<size_t>(words[at + j] - *least)];
        if (number < 0) number = static_cast<int32_t>(j);
      }
    }
    codes_.push_back(std::move(made));
    coded_.push_back(static_cast<uint32_t>(feature));
    at += count;
  }
}

void ForestFeatures::bind(StageSpec& spec, const Forest& forest) {
  stride_ = forest.stride();
  for (size_t i = 0; i < forest.features().size(); ++i) {
    const uint32_t feature = forest.features()[i];
    needed_ = feature + size_t{1};
    Slot slot;
    slot.feature = feature;
    slot.missing_is_lowest = forest.missing_is_lowest(i);
    if (!to_float_.empty()) slot.to_float = to_float_[to_float_.size() == 1 ? 0 : feature] != 0;
    if (!vector_) {
      slot.column = inputs_[feature];
      const auto coded = std::find(coded_.begin(), coded_.end(), feature);
      if (coded != coded_.end()) slot.codes = &codes_[static_cast<size_t>(coded - coded_.begin())];
      const Type type = spec.column_type(slot.column);
      const bool fits = slot.codes != nullptr ? is_text(type) || type == Type::Any
                                              : storage_of(type) != Storage::Text;
      if (!fits || storage_of(type) == Storage::Decimal || type == Type::List ||
          type == Type::Vector) {
        spec.fail("feature '" + names_[feature] + "' is of " + std::string(type_name(type)));
      }
    } else {
      slot_of_.resize(feature + size_t{1}, -1);
      if (slot_of_[feature] < 0) slot_of_[feature] = static_cast<int32_t>(i);
    }
    slots_.push_back(slot);
  }
}

Status ForestFeatures::check(const Run& run) const {
  const auto unexpected = [this](size_t input, const char* expected, Type got) {
    return invalid_argument(place_ + ": column '" + names_[input] + "': expected " + expected +
                            ", got " + std::string(type_name(got)));
  };
  if (vector_) {
    const Type type = run.in(inputs_[0]).type;
    return type == Type::Vector ? Status() : unexpected(0, "a Vector", type);
  }
  for (const Slot& slot : slots_) {
    const Type type = run.in(slot.column).type;
    if (type == Type::Vector || type == Type::List) {
      return unexpected(slot.feature, "a scalar", type);
    }
    const Storage storage = storage_of(type);
    if (slot.codes != nullptr) {
      if (storage != Storage::Text) return unexpected(slot.feature, "text", type);
    } else if (storage == Storage::Text || storage == Storage::Decimal) {
      return unexpected(slot.feature, "a number", type);
    }
  }
  return {};
}

bool ForestFeatures::any_failures(const Run& run) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [&](const Slot& slot) { return !run.in(slot.column).failures.empty(); });
}

bool ForestFeatures::failures(const Run& run, uint32_t row,
                              std::vector<const Failure*>& by_slot) const {
  by_slot.clear();
  bool any = false;
  for (const Slot& slot : slots_) {
    by_slot.push_back(run.in(slot.column).failure(row));
    any = any || by_slot.back() != nullptr;
  }
  return any;
}

void ForestFeatures::read_scalar(const Column& column, const Slot& slot, Rows rows, uint32_t first,
                                 uint32_t count, double* out) const {
  const Storage storage = storage_of(column.type);
  if (storage == Storage::Real && column.states.empty() && rows.all() && !nan_is_largest_) {
    const double* from = column.reals.data() + first;
    for (uint32_t i = 0; i < count; ++i, out += stride_) {
      const double value = slot.to_float ? rounded(from[i]) : from[i];
      *out = slot.missing_is_lowest && value != value ? kLowest : value;
    }
    return;
  }
  for (uint32_t i = 0; i < count; ++i, out += stride_) {
    const uint32_t row = rows[first + i];
    if (!column.states.empty() && column.state(row) == State::Missing) {
      *out = slot.missing_is_lowest ? kLowest : kMissing;
      continue;
    }
    if (storage == Storage::Real) {
      *out = column.reals[row];
      if (nan_is_largest_ && std::isnan(*out)) *out = std::numeric_limits<double>::infinity();
    } else if (storage == Storage::Integer) {
      *out = static_cast<double>(column.integers[row]);
    } else {
      const auto at = static_cast<size_t>(column.texts[row] - slot.codes->first);
      const bool known = column.texts[row] >= slot.codes->first && at < slot.codes->numbers.size();
      *out = known ? slot.codes->numbers[at] : kNoCategory;
    }
    if (slot.to_float) *out = rounded(*out);
    if (slot.missing_is_lowest && std::isnan(*out)) *out = kLowest;
  }
}

void ForestFeatures::read_vector(const Column& column, uint32_t row, double* out) const {
  const std::span<const double> values = column.row_reals(row);
  if (!column.sparse) {
    for (size_t i = 0; i < slots_.size(); ++i) out[i] = values[slots_[i].feature];
  } else {
    std::fill_n(out, slots_.size(), 0.0);
    const std::span<const int32_t> indices = column.row_indices(row);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto feature = static_cast<size_t>(indices[i]);
      if (feature >= slot_of_.size() || slot_of_[feature] < 0) continue;
      const auto slot = static_cast<size_t>(slot_of_[feature]);
      out[slot] = values[i];
      if (slot + 1 < slots_.size() && slots_[slot + 1].feature == feature)
        out[slot + 1] = values[i];
    }
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].to_float) out[i] = rounded(out[i]);
    if (slots_[i].missing_is_lowest && std::isnan(out[i])) out[i] = kLowest;
  }
}

void ForestFeatures::fill_missing(double* out) const {
  for (const Slot& slot : slots_) *out++ = slot.missing_is_lowest ? kLowest : kMissing;
}

Status ForestFeatures::read(Run& run, Rows rows, uint32_t first, uint32_t count, double* out,
                            uint8_t* lost) const {
  std::fill_n(lost, count, uint8_t{0});
  for (uint32_t i = 0; i < count; ++i) out[i * stride_ + stride_ - 1] = 0;
  if (!vector_) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      read_scalar(run.in(slots_[i].column), slots_[i], rows, first, count, out + i);
    }
    return {};
  }
  const Column& column = run.in(inputs_[0]);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t row = rows[first + i];
    double* to = out + i * stride_;
    if (!column.valid(row)) {
      lost[i] = 1;
      fill_missing(to);
      continue;
    }
    const size_t length = column.length(row);
    const bool fits =
        vector_size_ >= 0 ? length == static_cast<size_t>(vector_size_) : length >= needed_;
    if (fits) {
      read_vector(column, row, to);
      continue;
    }
    lost[i] = 1;
    fill_missing(to);
    Status refused = run.refuse(row, place_,
                                "column '" + names_[0] + "': expected a vector of " +
                                    (vector_size_ >= 0 ? std::to_string(vector_size_)
                                                       : "at least " + std::to_string(needed_)) +
                                    " values, got " + std::to_string(length));
    if (!refused.ok()) return refused;
  }
  return {};
}

}  // namespace serval::tabular
