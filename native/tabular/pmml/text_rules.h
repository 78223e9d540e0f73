// PMML's TextIndexNormalization: replacement tables applied to a text before its words are counted.
// Made at load; apply() is on the hot path, pure, any thread. Source: JPMML-Evaluator 1.7.6
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
  // Reads the stage's rule_patterns and rule_replacements (in Java's syntax), rule_rows (the first
  // row of each table, and the end of the last) and rule_recursive (a flag per table).
  explicit TextRules(StageSpec& spec);
  bool empty() const { return tables_.empty(); }
  // Applies all tables to `text`. Returns why that failed, or an empty text.
  std::string apply(std::string_view text, std::string& out) const;

 private:
  struct Row {
    std::shared_ptr<const JavaRegex> pattern;
    // Empty: it names a group that the pattern lacks, so texts that match are refused.
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
