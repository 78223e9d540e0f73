// Kinds that make vectors of columns, and take values out of them: one_hot, vector_assembler,
// vector_slicer, vector_element, vector_size_hint. Hot path; any thread. Source:
// tabular.md 5.3
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/limits.h"
#include "tabular/features/columns.h"
#include "tabular/features/kinds.h"
#include "tabular/java/number_text.h"

namespace serval::tabular {
namespace {

// Vectors up to this size are dense: cheaper to fill and to read.
constexpr size_t kDenseMax = 256;

class OneHot final : public ColumnStage {
 public:
  explicit OneHot(StageSpec& spec)
      : ColumnStage(spec), categories_(spec.integer(stages::one_hot::size)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
    const stages::OneHotInvalid invalid = spec.choice(stages::one_hot::invalid);
    keep_ = invalid == stages::OneHotInvalid::Keep;
    zeros_ = invalid == stages::OneHotInvalid::Zeros;
    if (categories_ < 0 || categories_ == std::numeric_limits<int32_t>::max()) {
      spec.fail("a size of " + std::to_string(categories_));
    }
    const bool drop_last = spec.flag(stages::one_hot::dropLast);
    size_ = categories_ + (keep_ ? 1 : 0) - (drop_last ? 1 : 0);
    if (size_ < 0) spec.fail("expected at least one category, got none");
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    if (!Numbers::reads(in) && !all_missing(in, rows)) return mismatch(0, in, "a number");
    const Numbers numbers(in);
    Column& out = run.out(outputs_[0], Type::Vector, rows);
    out.sparse = true;
    return each_row(run, rows, out, [&](uint32_t row) -> std::string {
      if (!in.valid(row)) return {};  // missing stays missing
      double index = numbers[row];
      if (!(index >= 0 && index < categories_)) {
        if (!keep_ && !(zeros_ && index >= 0)) {
          return "column '" + names_[0] + "': " + java_double(index) + " is not one of the " +
                 std::to_string(categories_) + " categories";
        }
        index = categories_;
      }
      if (index < size_) {
        out.indices.push_back(static_cast<int32_t>(index));
        out.reals.push_back(1);
      }
      out.end_sparse_row(static_cast<uint32_t>(size_));
      return {};
    });
  }

 private:
  int32_t categories_, size_ = 0;
  bool keep_ = false, zeros_ = false;
};

class VectorAssembler final : public ColumnStage {
 public:
  explicit VectorAssembler(StageSpec& spec)
      : ColumnStage(spec), sizes_(spec.integers(stages::vector_assembler::sizes)) {
    spec.expect_inputs(0, SIZE_MAX);
    spec.expect_outputs(1, 1);
    const stages::AssemblerInvalid invalid = spec.choice(stages::vector_assembler::invalid);
    keep_ = invalid == stages::AssemblerInvalid::Keep;
    nan_passes_ = keep_ || invalid == stages::AssemblerInvalid::Nan;
    if (!sizes_.empty() && sizes_.size() != inputs_.size()) {
      spec.fail("expected a size for each input");
    }
    for (const int32_t size : sizes_) {
      if (size < 0 || static_cast<uint64_t>(size) > kTableCellMax) {
        spec.fail("the size of an input is out of range: " + std::to_string(size));
      }
    }
  }

  Status run(Run& run, Rows rows) const override {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const Column& in = run.in(inputs_[k]);
      if (!Numbers::reads(in) && !Vectors::reads(in) && !all_missing(in, rows)) {
        return mismatch(k, in, "a number or a vector");
      }
    }
    Column& out = run.out(outputs_[0], Type::Vector, rows);
    out.sparse = wants_sparse(run, rows);
    return each_row(run, rows, out, [&](uint32_t row) {
      size_t size = 0;
      std::string fault;
      for (size_t k = 0; k < inputs_.size() && fault.empty(); ++k) {
        fault = append(run.in(inputs_[k]), k, row, out, size);
      }
      if (fault.empty()) out.end_vector(size);
      return fault;
    });
  }

 private:
  // Spark's choice for vectors that would be large if dense.
  bool wants_sparse(const Run& run, Rows rows) const {
    size_t size = 0, held = 0;
    bool any = false;
    for (const uint32_t input : inputs_) {
      const Column& in = run.in(input);
      if (!Vectors::reads(in)) {
        size += rows.count;
        held += rows.count;
        continue;
      }
      any = any || in.sparse;
      for (uint32_t i = 0; i < rows.count; ++i) {
        size += in.length(rows[i]);
        held += in.offsets[rows[i] + 1] - in.offsets[rows[i]];
      }
    }
    return any && size > kDenseMax * rows.count &&
           1.5 * static_cast<double>(held + rows.count) < static_cast<double>(size);
  }

  // Appends a row's values of one input, from position `size` of the vector on. -0.0 becomes 0.0,
  // as in Spark, which drops zeros and restores them.
  std::string append(const Column& in, size_t input, uint32_t row, Column& out,
                     size_t& size) const {
    if (!in.valid(row)) return append_missing(in, input, out, size);
    if (!Vectors::reads(in)) {
      const double value = Numbers(in)[row];
      if (!nan_passes_ && std::isnan(value)) return "column '" + names_[input] + "' is NaN";
      put(out, size++, value);
      return {};
    }
    const size_t length = in.length(row);
    // Another length than the column's own passes, as in Spark: a VectorSizeHint may be optimistic.
    if (size + length > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return "a vector of more than 2147483647 values";
    }
    if (in.sparse) {
      const auto values = in.row_reals(row);
      const auto indices = in.row_indices(row);
      const size_t begin = out.reals.size();
      if (!out.sparse) out.reals.resize(begin + length);
      for (size_t k = 0; k < values.size(); ++k) {
        const auto index = static_cast<size_t>(indices[k]);
        if (out.sparse) put(out, size + index, values[k]);
        else out.reals[begin + index] = values[k] + 0.0;
      }
    } else if (storage_of(in.type == Type::List ? in.element : in.type) == Storage::Integer) {
      for (const int64_t value : in.row_integers(row)) put(out, size++, static_cast<double>(value));
      return {};
    } else {
      for (const double value : in.row_reals(row)) put(out, size++, value);
      return {};
    }
    size += length;
    return {};
  }

  std::string append_missing(const Column& in, size_t input, Column& out, size_t& size) const {
    if (!keep_) return missing(input);
    const bool known = !sizes_.empty() && sizes_[input] > 0;
    if (!known && !Numbers::reads(in)) {
      return missing(input) + ", and its size is not known";
    }
    const int32_t count = known ? sizes_[input] : 1;
    for (int32_t k = 0; k < count; ++k) put(out, size++, std::numeric_limits<double>::quiet_NaN());
    return {};
  }

  static void put(Column& out, size_t index, double value) {
    if (!out.sparse) {
      out.reals.push_back(value + 0.0);
    } else if (value != 0) {
      out.reals.push_back(value);
      out.indices.push_back(static_cast<int32_t>(index));
    }
  }

  std::span<const int32_t> sizes_;
  bool keep_ = false, nan_passes_ = false;
};

class VectorSlicer final : public VectorStage {
 public:
  explicit VectorSlicer(StageSpec& spec)
      : VectorStage(spec, spec.integers(stages::vector_slicer::indices).size() > kDenseMax),
        indices_(spec.integers(stages::vector_slicer::indices)) {
    for (const int32_t index : indices_) {
      if (index < 0) spec.fail("expected indices of 0 or more, got " + std::to_string(index));
      needed_ = std::max(needed_, static_cast<size_t>(index) + 1);
    }
  }

 private:
  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    if (in.size < needed_) {
      return "column '" + names_[0] + "': expected a vector of " + std::to_string(needed_) +
             " values or more, got " + std::to_string(in.size);
    }
    size = indices_.size();
    for (size_t k = 0; k < indices_.size(); ++k) {
      const double value = in.at(static_cast<size_t>(indices_[k]));
      if (out.sparse && value == 0) continue;
      out.reals.push_back(value);
      if (out.sparse) out.indices.push_back(static_cast<int32_t>(k));
    }
    return {};
  }

  std::span<const int32_t> indices_;
  size_t needed_ = 0;
};

class VectorElement final : public VectorToNumberStage {
 public:
  explicit VectorElement(StageSpec& spec)
      : VectorToNumberStage(spec, Type::Double),
        index_(spec.integer(stages::vector_element::index)) {
    if (index_ < 0) spec.fail("an index of " + std::to_string(index_));
  }

 private:
  std::string answer(const VectorRow& in, double& out) const override {
    const auto index = static_cast<size_t>(index_);
    if (index >= in.size) {
      return "column '" + names_[0] + "': expected a vector of " + std::to_string(index + 1) +
             " values or more, got " + std::to_string(in.size);
    }
    out = in.at(index);
    return {};
  }
  int32_t index_;
};

// Without `check` a vector of another size and a missing one pass, as in Spark's optimistic mode.
class VectorSizeHint final : public VectorStage {
 public:
  explicit VectorSizeHint(StageSpec& spec)
      : VectorStage(spec, true),
        size_(spec.integer(stages::vector_size_hint::size)),
        check_(spec.flag(stages::vector_size_hint::check)) {
    passes_missing_ = !check_;
    if (size_ < 0) spec.fail("a size of " + std::to_string(size_));
  }

 private:
  std::string answer(const VectorRow& in, Column& out, size_t&) const override {
    if (check_) {
      std::string fault = wrong_size(static_cast<size_t>(size_), in);
      if (!fault.empty()) return fault;
    }
    out.reals.insert(out.reals.end(), in.values, in.values + in.count);
    if (out.sparse) out.indices.insert(out.indices.end(), in.indices, in.indices + in.count);
    return {};
  }
  int32_t size_;
  bool check_;
};

constexpr StageKind kAssemblyKinds[] = {
    {stages::one_hot::kind, make_stage<OneHot>},
    {stages::vector_assembler::kind, make_stage<VectorAssembler>},
    {stages::vector_slicer::kind, make_stage<VectorSlicer>},
    {stages::vector_element::kind, make_stage<VectorElement>},
    {stages::vector_size_hint::kind, make_stage<VectorSizeHint>},
};

}  // namespace

std::span<const StageKind> assembly_kinds() { return kAssemblyKinds; }

}  // namespace serval::tabular
