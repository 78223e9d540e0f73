// PMML's TextIndex: counts how often a term occurs in a text, word by word. Hot path, any thread.
// Source: tabular.md 3.3
#include <algorithm>
#include <optional>

#include "base/unicode/letters.h"
#include "tabular/java/regex/unicode.h"
#include "tabular/pmml/cells.h"
#include "tabular/pmml/functions/regex.h"
#include "tabular/pmml/kinds.h"
#include "tabular/pmml/text_rules.h"

namespace serval::tabular::pmml {
namespace {

constexpr size_t kWordsMax = 1 << 20;

using Weight = stages::TermWeights;

// The general categories of Java: Pd, Ps, Pe, Pc, Po, Pi, Pf.
bool is_punctuation(uint32_t c) {
  if (c > 0xFFFF) return false;
  const int category = regex::category(c);
  return (category >= 20 && category <= 24) || category == 29 || category == 30;
}

using Units = std::u16string;

Units units_of(std::string_view text) {
  Units units;
  while (!text.empty()) {
    const auto [value, bytes] = front_character(text);
    text.remove_prefix(bytes);
    if (value > 0xFFFF) {
      units.push_back(static_cast<char16_t>(0xD7C0 + (value >> 10)));
      units.push_back(static_cast<char16_t>(0xDC00 + (value & 0x3FF)));
    } else {
      units.push_back(static_cast<char16_t>(value));
    }
  }
  return units;
}

// Inserted, removed and changed UTF-16 units, as Java counts; more than `most` of them are
// most + 1. Takes steps of the order of most times the shorter one's length.
int64_t distance(const Units& a, const Units& b, int64_t most) {
  const auto rows = static_cast<int64_t>(a.size()), columns = static_cast<int64_t>(b.size());
  if (std::abs(rows - columns) > most) return most + 1;
  if (most == 0) return a == b ? 0 : 1;
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (int64_t i = 1; i <= rows; ++i) {
    // Cells further than `most` from the diagonal have a distance above `most`.
    const int64_t begin = std::max<int64_t>(1, i - most), end = std::min(columns, i + most);
    const auto left = static_cast<size_t>(begin - 1);
    int64_t diagonal = row[left];
    row[left] = begin == 1 ? i : most + 1;
    for (auto j = static_cast<size_t>(begin); j <= static_cast<size_t>(end); ++j) {
      const int64_t above = row[j];
      const bool same = a[static_cast<size_t>(i - 1)] == b[j - 1];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = above;
    }
  }
  return std::min(row.back(), most + 1);
}

int64_t distance(const std::string& a, const std::string& b, int64_t) { return a == b ? 0 : 1; }

// inputs: text, term -> the term's weight.
class TextIndex final : public OneOutput {
 public:
  explicit TextIndex(StageSpec& spec)
      : OneOutput(spec, 2, 2),
        best_hits_(spec.flag(stages::pmml_text_index::best_hits)),
        case_sensitive_(spec.flag(stages::pmml_text_index::case_sensitive)),
        tokenize_(spec.flag(stages::pmml_text_index::tokenize)),
        distance_(spec.integer(stages::pmml_text_index::distance)) {
    weight_ = spec.choice(stages::pmml_text_index::weights);
    if (distance_ < 0) spec.fail("a distance is 0 or more");
    const std::string_view word = spec.text(stages::pmml_text_index::word);
    const std::string_view separator = spec.text(stages::pmml_text_index::separator);
    by_word_ = !word.empty();
    auto regex = compile_regex(by_word_ ? word : separator);
    if (regex.ok()) regex_ = std::move(regex.value());
    else spec.fail(regex.error().message);
    rules_ = TextRules(spec);
    if (spec.failed()) return;
    term_ = spec.inputs[1];
    const bool real = weight_ == Weight::Logarithmic;
    if (real ? !is_real(type_) : !is_integer(type_)) spec.fail("its output has a wrong type");
  }

  OnFailure on_failure() const override { return OnFailure::Pass; }
  Status run(Run& run, Rows rows) const override {
    const Column& text = run.in(in_);
    const Column& term = run.in(term_);
    if (!is_text(text.type) || !is_text(term.type)) {
      return invalid_argument(place_ + ": expected texts");
    }
    Column& out = run.out(out_, type_, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (missing_at(text, row) || missing_at(term, row)) {
        out.set_missing(row);
        continue;
      }
      std::string normal;
      const std::string_view given = run.frame.strings.text(text.texts[row]);
      const std::string why = rules_.empty() ? "" : rules_.apply(given, normal);
      const auto text_words = words_of(rules_.empty() ? given : normal);
      const auto term_words = words_of(run.frame.strings.text(term.texts[row]));
      if (!why.empty() || !text_words || !term_words) {
        out.set_missing(row);
        Status refused = run.refuse(row, place_, why.empty() ? JavaRegex::too_long() : why);
        if (!refused.ok()) return refused;
        continue;
      }
      const std::vector<std::string>&words = *text_words, &wanted = *term_words;
      if (words.size() > kWordsMax || wanted.size() > kWordsMax) {
        out.set_missing(row);
        Status refused = run.refuse(row, place_, "the text has too many words");
        if (!refused.ok()) return refused;
        continue;
      }
      int64_t count = distance_ == 0 ? frequency(words, wanted)
                                     : frequency(units_of_all(words), units_of_all(wanted));
      if (weight_ == Weight::Binary) count = std::min<int64_t>(count, 1);
      if (weight_ == Weight::Logarithmic) {
        out.reals[row] = std::log10(1 + static_cast<double>(count));
      } else {
        out.integers[row] = count;
      }
    }
    return {};
  }

 private:
  // Returns an empty list if the expression needs too many steps. Case is folded after the text is
  // split.
  std::optional<std::vector<std::string>> words_of(std::string_view text) const {
    if (!tokenize_) return std::vector<std::string>{folded_of(text)};
    std::vector<std::string> words;
    if (text.empty()) return words;
    RegexRun found;
    size_t from = 0;
    while (words.size() <= kWordsMax) {
      const RegexFound next = regex_->find(text, found);
      if (next == RegexFound::TooLong) return std::nullopt;
      if (next == RegexFound::No) break;
      const auto [begin, end] = found.match();
      // A word that the expression finds may be empty.
      if (by_word_) words.push_back(folded_of(text.substr(begin, end - begin)));
      else add_word(text.substr(from, begin - from), words);
      from = end;
    }
    if (!by_word_) add_word(text.substr(from), words);
    return words;
  }

  std::string folded_of(std::string_view text) const {
    if (case_sensitive_) return std::string(text);
    std::string folded;
    while (!text.empty()) {
      const auto [value, bytes] = front_character(text);
      append_utf8(regex::folded(value), folded);
      text.remove_prefix(bytes);
    }
    return folded;
  }

  void add_word(std::string_view word, std::vector<std::string>& words) const {
    while (!word.empty()) {
      const auto [value, bytes] = front_character(word);
      if (!is_punctuation(value)) break;
      word.remove_prefix(bytes);
    }
    while (!word.empty()) {
      size_t last = word.size() - 1;
      while (last > 0 && (static_cast<unsigned char>(word[last]) & 0xC0) == 0x80) --last;
      if (!is_punctuation(front_character(word.substr(last)).value)) break;
      word.remove_suffix(word.size() - last);
    }
    if (!word.empty()) words.push_back(folded_of(word));
  }

  static std::vector<Units> units_of_all(const std::vector<std::string>& words) {
    std::vector<Units> made;
    made.reserve(words.size());
    for (const std::string& word : words) made.push_back(units_of(word));
    return made;
  }

  template <typename Word>
  int64_t frequency(const std::vector<Word>& words, const std::vector<Word>& wanted) const {
    if (wanted.empty() || wanted.size() > words.size()) return 0;
    int64_t count = 0, best = distance_;
    for (size_t at = 0; at + wanted.size() <= words.size(); ++at) {
      int64_t sum = 0;
      for (size_t k = 0; k < wanted.size() && sum <= best; ++k) {
        sum += distance(words[at + k], wanted[k], best - sum);
      }
      if (sum > best) continue;
      if (best_hits_ && sum < best) {
        best = sum;
        count = 0;
      }
      count += 1;
    }
    return count;
  }

  bool best_hits_, case_sensitive_, tokenize_;
  int32_t distance_;
  Weight weight_ = Weight::TermFrequency;
  bool by_word_ = false;
  TextRules rules_;                         // applied to the text, not to the term
  std::shared_ptr<const JavaRegex> regex_;  // of words, or else of what separates them
  uint32_t term_ = 0;
};

}  // namespace

std::unique_ptr<Stage> make_text_index(StageSpec& spec) {
  return std::make_unique<TextIndex>(spec);
}

}  // namespace serval::tabular::pmml
