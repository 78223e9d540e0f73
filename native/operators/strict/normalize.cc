// NormalizeStrings: ONNX's StringNormalizer without the machine's locales; ONNX Runtime's kernel
// requires en_US.UTF-8 when it is created. Hot path, any thread.
// Source: ONNX StringNormalizer; results of ONNX Runtime 1.30 with that locale.
#include <unordered_set>

#include "operators/kernel_io.h"
#include "operators/strict/groups.h"
#include "operators/strict/simple_case.h"
#include "operators/strings/encoding.h"
#include "operators/strings/values.h"

namespace serval::operators {
namespace {

enum class Change : uint8_t { None, Lower, Upper };

// Appends the text in another case. False: it is not UTF-8.
bool append_changed(std::string_view text, Change change, CaseRules rules, std::string& out) {
  while (!text.empty()) {
    const Decoded decoded = decode_utf8(text);
    if (!decoded.valid) return false;
    text.remove_prefix(decoded.bytes);
    const char32_t c = decoded.value;
    append_character(change == Change::None    ? c
                     : change == Change::Lower ? simple_lower(c, rules)
                                               : simple_upper(c, rules),
                     Encoding::Utf8, out);
  }
  return true;
}

// Input: strings [n] or [1, n]. Output: those that are not stop words, in the requested case; one
// empty string if none is left. Attributes: `case_change_action`, `is_case_sensitive`, `locale`,
// `stopwords` (a list of texts).
class NormalizeStrings final : public Kernel {
 public:
  NormalizeStrings(Change change, bool exact, CaseRules rules) : rules_(rules), change_(change) {
    compared_ = exact ? Change::None : change == Change::Upper ? Change::Upper : Change::Lower;
  }

  // False: it is not UTF-8.
  bool add_stop_word(std::string_view word) {
    std::string text;
    if (!append_changed(word, compared_, rules_, text)) return false;
    stop_words_.insert(std::move(text));
    return true;
  }

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView input = io.view(0);
    const std::span<const std::string_view> texts = io.elements<std::string_view>(input);
    const size_t rank = input.shape.rank();
    io.require(
        rank == 1 || (rank == 2 && input.shape[0] == 1),
        "StringNormalizer: expected strings of shape [n] or [1,n], got " + input.shape.to_string());
    io.require(!texts.empty(), "StringNormalizer: expected at least one string, got none");
    if (io.failed()) return io.take();
    StringsOut out;
    std::string compared;
    for (size_t i = 0; i < texts.size(); ++i) {
      bool valid = true;
      if (!stop_words_.empty()) {
        compared.clear();
        valid = append_changed(texts[i], compared_, rules_, compared);
        if (valid && stop_words_.contains(compared)) continue;
      }
      valid = valid && append_changed(texts[i], change_, rules_, out.bytes());
      out.check_limit();
      out.end();
      if (!valid) {
        return invalid_argument("StringNormalizer: string " + std::to_string(i) +
                                " is not valid UTF-8");
      }
    }
    if (out.size() == 0) out.add("");
    Shape shape = input.shape;
    shape.set(rank - 1, static_cast<int64_t>(out.size()));
    return out.write(context, 0, shape);
  }

 private:
  const CaseRules rules_;
  const Change change_;
  Change compared_;
  std::unordered_set<std::string> stop_words_;
};

Result<std::unique_ptr<Kernel>> make_normalize(const KernelAttributes& attributes) {
  const std::string action = attributes.text("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER") {
    return model_invalid("StringNormalizer: attribute 'case_change_action': expected NONE, LOWER " +
                         std::string("or UPPER, got ") + action);
  }
  const Change change = action == "LOWER"   ? Change::Lower
                        : action == "UPPER" ? Change::Upper
                                            : Change::None;
  auto kernel =
      std::make_unique<NormalizeStrings>(change, attributes.integer("is_case_sensitive", 0) != 0,
                                         case_rules_of(attributes.text("locale", "en_US.UTF-8")));
  Result<std::vector<std::string>> words = attributes.texts("stopwords");
  if (!words.ok()) return std::move(words.error());
  for (const std::string& word : words.value()) {
    if (!kernel->add_stop_word(word)) {
      return model_invalid("StringNormalizer: a stop word is not valid UTF-8");
    }
  }
  return std::unique_ptr<Kernel>(std::move(kernel));
}

}  // namespace

std::vector<OperatorType> normalize_operators() {
  const Operand text = port(DType::Bytes);
  return {
      {"NormalizeStrings", {text}, {text}, make_normalize, OperatorType::OutputType::OfLastInput}};
}

}  // namespace serval::operators
