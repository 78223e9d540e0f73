// Regular expressions: RegexReplace, RegexFullMatch and their static forms. RE2 is TensorFlow's own
// engine: linear time, bounded memory. Hot path. Source: results of TensorFlow 2.21.
#include <re2/re2.h>

#include <algorithm>

#include "operators/groups.h"
#include "operators/strings/encoding.h"
#include "operators/strings/values.h"

namespace serval::operators {

namespace {

using Pattern = std::shared_ptr<const re2::RE2>;

// RE2 prints errors unless that is disabled.
std::string compile(std::string_view text, Pattern& out) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  out = std::make_shared<const re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (out->ok()) return {};
  return "Invalid pattern: " + std::string(text.substr(0, kErrorValueBytesMax)) +
         ", error: " + out->error();
}

// A rewrite text split into its parts: literal bytes, then a group (-1 at the end).
struct Rewrite {
  struct Part {
    std::string literal;
    int group = -1;
  };
  std::vector<Part> parts = {{}};
  int groups = 1;        // group 0 and those up to the highest named one
  bool is_valid = true;  // false: matches are replaced by the text before the fault

  explicit Rewrite(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        if (is_valid) parts.back().literal.push_back(text[i]);
        continue;
      }
      const char next = ++i < text.size() ? text[i] : '\0';
      const bool is_group = next >= '0' && next <= '9';
      if (is_group) groups = std::max(groups, next - '0' + 1);
      if (!is_valid) continue;  // after the fault, only groups are counted
      if (is_group) {
        parts.back().group = next - '0';
        parts.emplace_back();
      } else if (next == '\\') {
        parts.back().literal.push_back('\\');
      } else {
        is_valid = false;
      }
    }
  }

  void append(std::span<const re2::StringPiece> found, StringsOut& out) const {
    for (const Part& part : parts) {
      out.append(part.literal);
      if (part.group < 0) continue;
      const re2::StringPiece& group = found[static_cast<size_t>(part.group)];
      out.append({group.data(), group.size()});
    }
  }
};

constexpr size_t kGroupsMax = 10;

// Bytes of one character as RE2 advances: three bytes of a surrogate count as one character, other
// faults as one byte.
size_t step_of(std::string_view text) {
  const Decoded decoded = decode_utf8(text);
  if (decoded.valid) return decoded.bytes;
  const auto is_trail = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; };
  return text.size() >= 3 && text[0] == '\xED' && is_trail(text[1]) && is_trail(text[2]) ? 3 : 1;
}

// Replaces the first match, or all of them from left to right. An empty match directly after
// another match does not count. (RE2's own function has no limit on its output.)
void replace(const re2::RE2& pattern, const Rewrite& rewrite, bool all, std::string_view text,
             StringsOut& out) {
  if (rewrite.groups > 1 + pattern.NumberOfCapturingGroups()) return out.append(text);
  re2::StringPiece found[kGroupsMax];
  const re2::StringPiece subject(text.data(), text.size());
  size_t at = 0, last_end = std::string_view::npos;
  while (at <= text.size() && !out.is_over()) {
    if (!pattern.Match(subject, at, text.size(), re2::RE2::UNANCHORED, found, rewrite.groups)) {
      break;
    }
    const auto begin = static_cast<size_t>(found[0].data() - subject.data());
    out.append(text.substr(at, begin - at));
    if (found[0].empty() && begin == last_end) {
      if (begin == text.size()) return;
      const size_t step = step_of(text.substr(begin));
      out.append(text.substr(begin, step));
      at = begin + step;
      continue;
    }
    // An invalid rewrite disables a single replacement, but replacing all continues without the
    // rest of the rewrite.
    if (!rewrite.is_valid && !all) return out.append(text.substr(begin));
    rewrite.append(found, out);
    at = last_end = begin + found[0].size();
    if (!all) break;
  }
  if (at < text.size()) out.append(text.substr(at));
}

class RegexReplace : public Kernel {
 public:
  // `pattern` null: both texts are inputs.
  RegexReplace(Pattern pattern, std::string rewrite, bool all)
      : pattern_(std::move(pattern)), rewrite_(rewrite), all_(all) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    return create(nullptr, {}, attributes);
  }
  static Result<std::unique_ptr<Kernel>> make_static(const KernelAttributes& attributes) {
    Pattern pattern;
    std::string problem = compile(attributes.text("pattern", ""), pattern);
    if (!problem.empty()) return invalid_attribute(std::move(problem));
    return create(std::move(pattern), attributes.text("rewrite", ""), attributes);
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    if (pattern_ != nullptr) return replace_all(context, input.value(), *pattern_, rewrite_);
    const Result<std::string_view> text =
        scalar_string(context, 1, "Pattern must be scalar, but received ");
    if (!text.ok()) return text.error();
    Pattern pattern;
    std::string problem = compile(text.value(), pattern);
    if (!problem.empty()) return invalid_argument(std::move(problem));
    const Result<std::string_view> rewrite =
        scalar_string(context, 2, "Rewrite must be scalar, but received ");
    if (!rewrite.ok()) return rewrite.error();
    return replace_all(context, input.value(), *pattern, Rewrite(rewrite.value()));
  }

 private:
  static std::unique_ptr<Kernel> create(Pattern pattern, std::string rewrite,
                                        const KernelAttributes& attributes) {
    const bool all = attributes.integer("replace_global", 1) != 0;
    return std::make_unique<RegexReplace>(std::move(pattern), std::move(rewrite), all);
  }

  Status replace_all(KernelContext& context, const TensorView& input, const re2::RE2& pattern,
                     const Rewrite& rewrite) const {
    StringsOut out;
    for (std::string_view text : input.strings) {
      replace(pattern, rewrite, all_, text, out);
      out.end();
    }
    return out.write(context, 0, input.shape);
  }

  Pattern pattern_;
  Rewrite rewrite_;
  bool all_;
};

class RegexFullMatch : public Kernel {
 public:
  explicit RegexFullMatch(Pattern pattern) : pattern_(std::move(pattern)) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes&) {
    return std::unique_ptr<Kernel>(std::make_unique<RegexFullMatch>(nullptr));
  }
  static Result<std::unique_ptr<Kernel>> make_static(const KernelAttributes& attributes) {
    Pattern pattern;
    std::string problem = compile(attributes.text("pattern", ""), pattern);
    if (!problem.empty()) return invalid_attribute(std::move(problem));
    return std::unique_ptr<Kernel>(std::make_unique<RegexFullMatch>(std::move(pattern)));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    Pattern pattern = pattern_;
    if (pattern == nullptr) {
      const Result<std::string_view> text =
          scalar_string(context, 1, "Pattern must be scalar, but received ");
      if (!text.ok()) return text.error();
      std::string problem = compile(text.value(), pattern);
      if (!problem.empty()) return invalid_argument(std::move(problem));
    }
    Result<std::span<uint8_t>> memory = context.output(0, DType::Bool, input.value().shape);
    if (!memory.ok()) return memory.error();
    size_t i = 0;
    for (std::string_view text : input.value().strings) {
      memory.value()[i++] =
          re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *pattern);
    }
    return ok_status();
  }

 private:
  Pattern pattern_;
};

}  // namespace

std::vector<OperatorType> regex_operators() {
  const Operand string = port(DType::Bytes), yes_no = port(DType::Bool);
  return {
      {"RegexReplace", {string, string, string}, {string}, RegexReplace::make},
      {"StaticRegexReplace", {string}, {string}, RegexReplace::make_static},
      {"RegexFullMatch", {string, string}, {yes_no}, RegexFullMatch::make},
      {"StaticRegexFullMatch", {string}, {yes_no}, RegexFullMatch::make_static},
  };
}

}  // namespace serval::operators
