// PMML's TextIndexNormalization: tables of replacements that a text goes through before its words
// are counted. Made at load; applying: hot path, pure, any thread. Source: JPMML-Evaluator 1.7.6
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tabular/java/regex.h"
#include "tabular/stage.h"

namespace serval::tabular::pmml {

class TextRules {
 public:
  TextRules() = default;
  // Reads the stage's rule_patterns and rule_replacements (both Java's), rule_rows (where each
  // table's rows start, and the end of the last) and rule_recursive (a flag of each table).
  explicit TextRules(StageSpec& spec);
  bool empty() const { return tables_.empty(); }
  // The text that all tables make of `text`. Returns why there is none: '' where there is one.
  std::string apply(std::string_view text, std::string& out) const;

 private:
  struct Row {
    std::shared_ptr<const JavaRegex> pattern;
    // None: it names a group that the pattern does not have, which refuses the texts that match.
    std::optional<JavaReplacement> replacement;
    std::string fault;
  };
  struct Table {
    std::vector<Row> rows;
    bool recursive = false;
  };
  void read(StageSpec& spec);
  static std::string run(const Table& table, size_t bytes_max, std::string& text);
  std::vector<Table> tables_;
};

}  // namespace serval::tabular::pmml
