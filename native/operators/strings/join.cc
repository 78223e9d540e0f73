// String operators that join strings: StringJoin, ReduceJoin, UnsortedSegmentJoin, StringNGrams.
// Hot path. Source: TensorFlow's documentation of each operator and results of TensorFlow 2.21.
#include <algorithm>
#include <optional>

#include "operators/groups.h"
#include "operators/strings/values.h"

namespace serval::operators {

namespace {

// Limits on amounts in a model or a request that are independent of the actual strings.
constexpr int64_t kPadWidthMax = 1 << 16;
constexpr uint64_t kSegmentElementsMax = 1 << 22;

class StringJoin : public Kernel {
 public:
  explicit StringJoin(std::string separator) : separator_(std::move(separator)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    return std::unique_ptr<Kernel>(std::make_unique<StringJoin>(attributes.text("separator", "")));
  }

  // Scalars are combined with every element of the others, which have one shape.
  Status run(KernelContext& context) const override {
    std::vector<TensorView> inputs;
    Shape shape;
    for (size_t i = 0; i < context.input_count(); ++i) {
      const Result<TensorView> input = string_input(context, i);
      if (!input.ok()) return input.error();
      inputs.push_back(input.value());
      if (is_scalar(input.value())) continue;
      if (shape.rank() != 0 && !(shape == input.value().shape)) {
        return invalid_argument("Input shapes do not match: " + shape.to_string() + " vs. " +
                                input.value().shape.to_string());
      }
      shape = input.value().shape;
    }
    StringsOut out;
    const size_t count = static_cast<size_t>(shape.elements().value_or(0));
    for (size_t i = 0; i < count && !out.is_over(); ++i) {
      for (size_t j = 0; j < inputs.size(); ++j) {
        if (j != 0) out.append(separator_);
        out.append(inputs[j].strings[is_scalar(inputs[j]) ? 0 : i]);
      }
      out.end();
    }
    return out.write(context, 0, shape);
  }

 private:
  std::string separator_;
};

// Offsets of the elements along some dims of a shape, the last dim fastest.
std::vector<size_t> offsets_of(const Shape& shape, std::span<const size_t> dims) {
  std::vector<size_t> offsets = {0};
  for (size_t dim : dims) {
    size_t stride = 1;
    for (size_t i = dim + 1; i < shape.rank(); ++i) stride *= static_cast<size_t>(shape[i]);
    std::vector<size_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(shape[dim]));
    for (size_t offset : offsets) {
      for (int64_t i = 0; i < shape[dim]; ++i) {
        next.push_back(offset + static_cast<size_t>(i) * stride);
      }
    }
    offsets = std::move(next);
  }
  return offsets;
}

// Product of some dims without overflow; nullopt beyond the limit of one output.
std::optional<size_t> product_of(const Shape& shape, std::span<const size_t> dims) {
  uint64_t product = 1;
  for (size_t dim : dims) {
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(shape[dim]), &product) ||
        product > kStringOutputBytesMax) {
      return std::nullopt;
    }
  }
  return static_cast<size_t>(product);
}

class ReduceJoin : public Kernel {
 public:
  ReduceJoin(std::string separator, bool keep_dims)
      : separator_(std::move(separator)), keep_dims_(keep_dims) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    return std::unique_ptr<Kernel>(std::make_unique<ReduceJoin>(
        attributes.text("separator", ""), attributes.integer("keep_dims", 0) != 0));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    const Result<TensorView> axes = integer_input(context, 1);
    if (!axes.ok()) return axes.error();
    const Shape& from = input.value().shape;
    std::vector<size_t> reduced;
    Status status = read_axes(axes.value(), from.rank(), reduced);
    if (!status.ok()) return status;
    // The joined elements are in the order of the first given axis.
    std::reverse(reduced.begin(), reduced.end());
    std::vector<size_t> kept;
    Shape shape;
    for (size_t i = 0; i < from.rank(); ++i) {
      const bool is_reduced = std::find(reduced.begin(), reduced.end(), i) != reduced.end();
      if (!is_reduced) kept.push_back(i);
      if (!is_reduced || keep_dims_) (void)shape.push_back(is_reduced ? 1 : from[i]);
    }
    // If a dim is 0, the kept dims alone may have any size.
    if (!product_of(from, kept) || !product_of(from, reduced)) {
      return invalid_argument("ReduceJoin: shape " + from.to_string() + " is too large");
    }
    const std::vector<size_t> inner = offsets_of(from, reduced);
    StringsOut out;
    for (size_t outer : offsets_of(from, kept)) {
      if (out.is_over()) break;
      for (size_t i = 0; i < inner.size(); ++i) {
        if (i != 0) out.append(separator_);
        out.append(input.value().strings[outer + inner[i]]);
      }
      out.end();
    }
    return out.write(context, 0, shape);
  }

 private:
  static Status read_axes(const TensorView& axes, size_t rank, std::vector<size_t>& out) {
    const auto dims = static_cast<int64_t>(rank);
    for (size_t i = 0; i < element_count(axes); ++i) {
      const int64_t axis = integer_at(axes, i);
      if (axis < -dims || axis >= dims) {
        return invalid_argument("Invalid reduction dimension " + std::to_string(axis) +
                                " for input with " + std::to_string(rank) + " dimension(s)");
      }
      const auto place = static_cast<size_t>(axis < 0 ? axis + dims : axis);
      if (std::find(out.begin(), out.end(), place) != out.end()) {
        return invalid_argument("Duplicate reduction dimension " + std::to_string(axis));
      }
      out.push_back(place);
    }
    return ok_status();
  }

  std::string separator_;
  bool keep_dims_;
};

class UnsortedSegmentJoin : public Kernel {
 public:
  explicit UnsortedSegmentJoin(std::string separator) : separator_(std::move(separator)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    return std::unique_ptr<Kernel>(
        std::make_unique<UnsortedSegmentJoin>(attributes.text("separator", "")));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    const Result<TensorView> ids = integer_input(context, 1);
    if (!ids.ok()) return ids.error();
    const Result<TensorView> count = integer_input(context, 2);
    if (!count.ok()) return count.error();
    if (element_count(count.value()) != 1) {
      return invalid_argument("Number of segments must be one value, got shape " +
                              count.value().shape.to_string());
    }
    const int64_t segments = integer_at(count.value(), 0);
    Status status = check(input.value().shape, ids.value(), segments);
    if (!status.ok()) return status;
    return join(context, input.value(), ids.value(), static_cast<size_t>(segments));
  }

 private:
  static Status check(const Shape& input, const TensorView& ids, int64_t segments) {
    const Shape& shape = ids.shape;
    if (segments < 0) {
      return invalid_argument("Number of segments must be non-negative but got " +
                              std::to_string(segments));
    }
    if (shape.rank() == 0) return invalid_argument("Segment_id cannot have rank 0");
    if (shape.rank() > input.rank()) {
      return invalid_argument("Invalid segment_id rank " + std::to_string(shape.rank()) +
                              " for input with " + std::to_string(input.rank()) + " dimension(s)");
    }
    for (size_t i = 0; i < shape.rank(); ++i) {
      if (shape[i] == input[i]) continue;
      return invalid_argument("Segment dimension is " + std::to_string(shape[i]) +
                              " while input dimension is " + std::to_string(input[i]) +
                              " in rank " + std::to_string(i));
    }
    for (size_t i = 0; i < element_count(ids); ++i) {
      const int64_t id = integer_at(ids, i);
      if (id < 0 || id >= segments) {
        return invalid_argument(
            "segment_ids are not allowed to exceed num_segments or to have negative values.");
      }
    }
    return ok_status();
  }

  Status join(KernelContext& context, const TensorView& input, const TensorView& ids,
              size_t segments) const {
    std::vector<size_t> inner_dims;
    Shape shape;
    (void)shape.push_back(static_cast<int64_t>(segments));
    for (size_t i = ids.shape.rank(); i < input.shape.rank(); ++i) {
      inner_dims.push_back(i);
      (void)shape.push_back(input.shape[i]);
    }
    const std::optional<size_t> inner = product_of(input.shape, inner_dims);
    const std::optional<uint64_t> total = shape.elements();
    if (!inner || !total || *total > kSegmentElementsMax) {
      return invalid_argument("num_segments " + std::to_string(segments) + " is too large");
    }
    std::vector<std::string> joined(*total);
    size_t bytes = 0;
    for (size_t i = 0; i < element_count(ids); ++i) {
      const auto id = static_cast<size_t>(integer_at(ids, i));
      for (size_t j = 0; j < *inner; ++j) {
        std::string& to = joined[id * *inner + j];
        const std::string_view piece = input.strings[i * *inner + j];
        bytes += separator_.size() + piece.size();
        if (bytes > kStringOutputBytesMax) {
          return invalid_argument("UnsortedSegmentJoin: the output is too large");
        }
        if (!to.empty()) to += separator_;
        to += piece;
      }
    }
    const std::vector<std::string_view> views(joined.begin(), joined.end());
    return context.output_strings(0, shape, views);
  }

  std::string separator_;
};

struct NGramSettings {
  std::string separator, left_pad, right_pad;
  std::vector<int64_t> widths;
  int64_t pad_width = 0;
  bool preserve_short = false;
};

class StringNGrams : public Kernel {
 public:
  explicit StringNGrams(NGramSettings settings) : set_(std::move(settings)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    NGramSettings settings;
    settings.separator = attributes.text("separator", "");
    settings.left_pad = attributes.text("left_pad", "");
    settings.right_pad = attributes.text("right_pad", "");
    settings.widths = attributes.integers("ngram_widths");
    settings.pad_width = attributes.integer("pad_width", 0);
    settings.preserve_short = attributes.integer("preserve_short_sequences", 0) != 0;
    for (int64_t width : settings.widths) {
      if (width <= 0) return invalid_attribute("ngram_widths must contain positive values");
      const int64_t pad = pad_of(width, settings.pad_width);
      if (pad > kPadWidthMax) return pad_too_large(pad);
    }
    if (settings.pad_width > kPadWidthMax && settings.preserve_short) {
      return pad_too_large(settings.pad_width);
    }
    return std::unique_ptr<Kernel>(std::make_unique<StringNGrams>(std::move(settings)));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> data = string_input(context, 0);
    if (!data.ok()) return data.error();
    const Result<TensorView> splits = integer_input(context, 1);
    if (!splits.ok()) return splits.error();
    const size_t rows = element_count(splits.value());
    Status status = check_splits(splits.value(), data.value().strings.size());
    if (!status.ok()) return status;
    StringsOut out;
    std::vector<int64_t> ends(rows, 0);
    if (rows == 0 || data.value().strings.empty()) {
      for (size_t i = 0; i < data.value().strings.size(); ++i) out.add({});
      status = write_integers(context, 1, splits.value().dtype, ends);
      return status.ok() ? out.write(context, 0, data.value().shape) : std::move(status);
    }
    for (size_t i = 1; i < rows; ++i) {
      const auto begin = static_cast<size_t>(integer_at(splits.value(), i - 1));
      const auto end = static_cast<size_t>(integer_at(splits.value(), i));
      status = add_row(data.value().strings.subspan(begin, end - begin), out);
      if (!status.ok()) return status;
      if (out.is_over()) break;
      ends[i] = static_cast<int64_t>(out.size());
    }
    Shape shape;
    (void)shape.push_back(static_cast<int64_t>(out.size()));
    status = out.write(context, 0, shape);
    return status.ok() ? write_integers(context, 1, splits.value().dtype, ends) : std::move(status);
  }

 private:
  static Error pad_too_large(int64_t pad) {
    return invalid_attribute("Pad width could lead to integer overflow, got pad_width = " +
                             std::to_string(pad));
  }

  static int64_t pad_of(int64_t width, int64_t pad_width) {
    return std::min(pad_width < 0 ? width - 1 : pad_width, width - 1);
  }

  static Status check_splits(const TensorView& splits, size_t size) {
    int64_t previous = 0;
    const auto last = static_cast<int64_t>(size);
    const size_t count = element_count(splits);
    for (size_t i = 0; i < count; ++i) {
      const int64_t split = integer_at(splits, i);
      if (i == 0 && split != 0) {
        return invalid_argument("First split value must be 0, got " + std::to_string(split));
      }
      if (split < previous || split > last) {
        return invalid_argument("Invalid split value " + std::to_string(split) + ", must be in [" +
                                std::to_string(previous) + ", " + std::to_string(size) + "]");
      }
      previous = split;
    }
    if (count != 0 && previous != last) {
      return invalid_argument("Last split value must be data size. Expected " +
                              std::to_string(size) + ", got " + std::to_string(previous));
    }
    return ok_status();
  }

  Status add_row(std::span<const std::string_view> row, StringsOut& out) const {
    const size_t before = out.size();
    const auto length = static_cast<int64_t>(row.size());
    for (int64_t width : set_.widths) {
      const int64_t pad = pad_of(width, set_.pad_width);
      const int64_t count = std::max<int64_t>(0, length + 2 * pad - width + 1);
      add_ngrams(row, width, pad, count, out);
    }
    if (!set_.preserve_short || row.empty() || out.size() != before) return ok_status();
    if (set_.pad_width < 0) {
      return invalid_argument(
          "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are "
          "not provided, got " +
          std::to_string(set_.pad_width));
    }
    const int64_t width = length + 2 * set_.pad_width;
    add_ngrams(row, width, pad_of(width, set_.pad_width), 1, out);
    return ok_status();
  }

  // Adds `count` windows over the row with `pad` padding entries before and after it.
  void add_ngrams(std::span<const std::string_view> row, int64_t width, int64_t pad, int64_t count,
                  StringsOut& out) const {
    const auto length = static_cast<int64_t>(row.size());
    for (int64_t first = -pad; first < count - pad && !out.is_over(); ++first) {
      for (int64_t i = first; i < first + width && !out.is_over(); ++i) {
        if (i != first) out.append(set_.separator);
        const bool inside = i >= 0 && i < length;
        out.append(inside ? row[static_cast<size_t>(i)] : i < 0 ? set_.left_pad : set_.right_pad);
      }
      out.end();
    }
  }

  NGramSettings set_;
};

}  // namespace

std::vector<OperatorType> string_join_operators() {
  const Operand string = port(DType::Bytes), integer = port(DType::Invalid);
  return {
      {"StringJoin", {port(DType::Bytes, Operand::Form::Variadic)}, {string}, StringJoin::make},
      {"ReduceJoin", {string, integer}, {string}, ReduceJoin::make},
      {"UnsortedSegmentJoin", {string, integer, integer}, {string}, UnsortedSegmentJoin::make},
      {"StringNGrams", {string, integer}, {string, integer}, StringNGrams::make},
  };
}

}  // namespace serval::operators
