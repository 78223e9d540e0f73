// StringFormat: inserts tensors into a template. Hot path. Source: results of TensorFlow 2.21.
#include <cstdio>
#include <cstdlib>

#include "operators/groups.h"
#include "operators/strings/values.h"

namespace serval::operators {

namespace {

// Uses the fewest digits that read back as the same number: 6 or 9 for a float, 15 or 17 for a
// double.
template <typename T>
void append_real(T value, StringsOut& out) {
  constexpr bool kFloat = sizeof(T) == sizeof(float);
  char text[40];
  int length = std::snprintf(text, sizeof(text), "%.*g", kFloat ? 6 : 15, double{value});
  const bool same = kFloat ? std::strtof(text, nullptr) == static_cast<float>(value)
                           : std::strtod(text, nullptr) == double{value};
  if (!same && value == value) {
    length = std::snprintf(text, sizeof(text), "%.*g", kFloat ? 9 : 17, double{value});
  }
  if (value != value) return out.append("nan");
  out.append({text, static_cast<size_t>(length)});
}

// Quotes a text; control characters are escaped as in C, UTF-8 is unchanged.
void append_quoted(std::string_view value, StringsOut& out) {
  out.append('"');
  for (char c : value) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\n') out.append("\\n");
    else if (c == '\r') out.append("\\r");
    else if (c == '\t') out.append("\\t");
    else if (c == '"' || c == '\'' || c == '\\') out.append({"\\", 1}), out.append(c);
    else if (byte >= 0x20 && byte != 0x7F) out.append(c);
    else {
      const char octal[] = {'\\', static_cast<char>('0' + (byte >> 6)),
                            static_cast<char>('0' + (byte >> 3 & 7)),
                            static_cast<char>('0' + (byte & 7))};
      out.append({octal, sizeof(octal)});
    }
  }
  out.append('"');
}

void append_element(const TensorView& view, size_t i, StringsOut& out) {
  visit(view.dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::same_as<T, bool>) out.append(view.data[i] != 0 ? '1' : '0');
    else if constexpr (IsInteger<T>) out.append(std::to_string(element_at<T>(view, i)));
    else if constexpr (IsHalf<T>) append_real(static_cast<float>(element_at<T>(view, i)), out);
    else if constexpr (IsReal<T>) append_real(element_at<T>(view, i), out);
    else if constexpr (std::same_as<T, std::string_view>) append_quoted(view.strings[i], out);
  });
}

// Prints a tensor in brackets; of each dim the first and last `edge` entries.
struct Printer {
  const TensorView& view;
  uint64_t edge;
  StringsOut& out;

  // `at`: the index of the first element below.
  void print(size_t dim, size_t at) const {
    const size_t rank = view.shape.rank();
    if (out.is_over()) return;
    if (dim == rank) return append_element(view, at, out);
    size_t step = 1;
    for (size_t i = dim + 1; i < rank; ++i) step *= static_cast<size_t>(view.shape[i]);
    const std::string between =
        dim + 1 == rank ? " " : std::string(rank - dim - 1, '\n') + std::string(dim + 1, ' ');
    const auto count = static_cast<uint64_t>(view.shape[dim]);
    out.append('[');
    const bool cut = count != 0 && (count - 1) / 2 >= edge;
    for (uint64_t i = 0; i < count && !out.is_over(); ++i) {
      if (cut && i == edge) {
        out.append(between);
        out.append("...");
        i = count - edge;
        if (edge == 0) break;
      }
      if (i != 0) out.append(between);
      print(dim + 1, at + static_cast<size_t>(i) * step);
    }
    out.append(']');
  }
};

class StringFormat : public Kernel {
 public:
  StringFormat(std::vector<std::string> pieces, int64_t summarize)
      : pieces_(std::move(pieces)), summarize_(summarize) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    const std::string text = attributes.text("template", "%s");
    const std::string placeholder = attributes.text("placeholder", "%s");
    if (placeholder.empty()) {
      return make_error(ErrorCode::ModelInvalid, "StringFormat: the placeholder is empty");
    }
    std::vector<std::string> pieces;
    size_t begin = 0;
    for (size_t end; (end = text.find(placeholder, begin)) != std::string::npos;) {
      pieces.push_back(text.substr(begin, end - begin));
      begin = end + placeholder.size();
    }
    pieces.push_back(text.substr(begin));
    return std::unique_ptr<Kernel>(
        std::make_unique<StringFormat>(std::move(pieces), attributes.integer("summarize", 3)));
  }

  Status run(KernelContext& context) const override {
    if (context.input_count() + 1 != pieces_.size()) {
      return invalid_argument("num placeholders in template and num inputs must match: " +
                              std::to_string(pieces_.size() - 1) + " vs. " +
                              std::to_string(context.input_count()));
    }
    StringsOut out;
    out.append(pieces_[0]);
    for (size_t i = 0; i + 1 < pieces_.size(); ++i) {
      const Result<TensorView> input = context.input(i);
      if (!input.ok()) return input.error();
      append_tensor(input.value(), out);
      out.append(pieces_[i + 1]);
    }
    out.end();
    return out.write(context, 0, Shape());
  }

 private:
  void append_tensor(const TensorView& view, StringsOut& out) const {
    const bool none = element_count(view) == 0 || summarize_ == 0;
    if (none && view.dtype == DType::Bool) return;
    if (none && is_scalar(view)) return out.append("...");
    const uint64_t all = UINT64_MAX;
    Printer{view,
            none             ? 0
            : summarize_ < 0 ? all
                             : static_cast<uint64_t>(summarize_),
            out}
        .print(0, 0);
  }

  std::vector<std::string> pieces_;
  int64_t summarize_;
};

}  // namespace

std::vector<OperatorType> string_format_operators() {
  const Operand inputs = port(DType::Invalid, Operand::Form::Variadic);
  return {{"StringFormat", {inputs}, {port(DType::Bytes)}, StringFormat::make}};
}

}  // namespace serval::operators
