// Reading and applying replacement tables of texts. Load thread; apply(): hot path.
#include "tabular/pmml/text_rules.h"

#include <algorithm>
#include <utility>

#include "tabular/pmml/functions/regex.h"

namespace serval::tabular::pmml {
namespace {

// Limit of a text's growth: this size, or four times the original size.
constexpr size_t kTextBytesMax = size_t{1} << 20;
// Limits repetition; JPMML repeats a recursive table endlessly if it never converges.
constexpr int kRoundsMax = 1000;

}  // namespace

TextRules::TextRules(StageSpec& spec) { read(spec); }

void TextRules::read(StageSpec& spec) {
  const std::vector<std::string_view> patterns = spec.texts(stages::pmml_text_index::rule_patterns);
  const std::vector<std::string_view> replacements =
      spec.texts(stages::pmml_text_index::rule_replacements);
  const std::span<const int32_t> rows = spec.integers(stages::pmml_text_index::rule_rows);
  const std::span<const int32_t> recursive = spec.integers(stages::pmml_text_index::rule_recursive);
  if (rows.empty() && patterns.empty()) return;
  const bool fits = rows.size() == recursive.size() + 1 && rows.front() == 0 &&
                    static_cast<size_t>(rows.back()) == patterns.size() &&
                    patterns.size() == replacements.size();
  if (!fits) return spec.fail("the tables of rules do not fit each other");
  for (size_t table = 0; table < recursive.size(); ++table) {
    if (rows[table] > rows[table + 1]) return spec.fail("the rows of rules are not in order");
    Table& made = tables_.emplace_back();
    made.recursive = recursive[table] != 0;
    for (auto i = static_cast<size_t>(rows[table]); i < static_cast<size_t>(rows[table + 1]); ++i) {
      auto pattern = compile_regex(patterns[i]);
      if (!pattern.ok()) return spec.fail(pattern.error().message);
      Row& row = made.rows.emplace_back();
      row.pattern = std::move(pattern.value());
      auto replacement = JavaReplacement::parse(replacements[i], *row.pattern);
      if (replacement.ok()) row.replacement = std::move(replacement.value());
      else row.fault = replacement.error().message;
    }
  }
}

std::string TextRules::run(const Table& table, size_t bytes_max, std::string& text) {
  for (const Row& row : table.rows) {
    if (!row.replacement) {
      RegexRun found;
      const RegexFound any = row.pattern->find(text, found);
      if (any == RegexFound::TooLong) return JavaRegex::too_long();
      if (any == RegexFound::Yes) return row.fault;
      continue;
    }
    std::string made;
    switch (row.replacement->replace_all(*row.pattern, text, made, bytes_max)) {
      case JavaReplacement::Done::All: break;
      case JavaReplacement::Done::TooLong: return JavaRegex::too_long();
      case JavaReplacement::Done::TooLarge: return "the normalized text is too long";
    }
    text = std::move(made);
  }
  return "";
}

std::string TextRules::apply(std::string_view text, std::string& out) const {
  out = text;
  const size_t bytes_max = std::max(kTextBytesMax, 4 * text.size());
  for (const Table& table : tables_) {
    for (int round = 0;; ++round) {
      if (round == kRoundsMax) {
        return "the recursive normalization does not converge within " +
               std::to_string(kRoundsMax) + " rounds";
      }
      std::string before = table.recursive ? out : std::string();
      std::string why = run(table, bytes_max, out);
      if (!why.empty()) return why;
      if (!table.recursive || out == before) break;
    }
  }
  return "";
}

}  // namespace serval::tabular::pmml
