// Kinds between texts and numbers: string_indexer, index_to_string, string_map, regex_indexer,
// number_map. Hot path; any thread. Source: tabular.md 5.3
#include <algorithm>
#include <cmath>
#include <optional>

#include "tabular/features/columns.h"
#include "tabular/features/kinds.h"
#include "tabular/features/text_index.h"
#include "tabular/java/number_text.h"
#include "tabular/java/regex.h"

namespace serval::tabular {
namespace {

// String, or a number as text -> Double.
class StringIndexer final : public ColumnStage {
 public:
  explicit StringIndexer(StageSpec& spec)
      : ColumnStage(spec),
        dictionary_(&spec.dictionary()),
        index_(spec.text_ids(stages::string_indexer::labels)),
        unknown_(static_cast<double>(spec.texts(stages::string_indexer::labels).size())),
        keep_(spec.flag(stages::string_indexer::keep)),
        absent_(spec.flag(stages::string_indexer::absent)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    Column& out = run.out(outputs_[0], Type::Double, rows);
    const bool none = (absent_ || !is_text(in.type)) && all_missing(in, rows);
    if (absent_ && none) {
      for (uint32_t i = 0; i < rows.count; ++i) out.set_missing(rows[i]);
      return {};
    }
    if (!is_text(in.type) && !Numbers::reads(in) && !none) return mismatch(0, in, "a string");
    return each_row(run, rows, out, [&](uint32_t row) {
      const int32_t index = in.valid(row) ? index_[text_of(in, row)] : -1;
      out.reals[row] = index >= 0 ? index : unknown_;
      return index >= 0 || keep_ ? std::string() : unseen(run, in, row);
    });
  }

 private:
  // -1: not one of the plan's.
  TextId text_of(const Column& in, uint32_t row) const {
    if (is_text(in.type)) return in.texts[row];
    std::string text;
    append_java_scalar(in, row, text);
    return dictionary_->find(text);
  }
  std::string unseen(const Run& run, const Column& in, uint32_t row) const {
    if (!in.valid(row)) return missing(0);
    std::string text;
    if (is_text(in.type)) text = run.frame.strings.text(in.texts[row]);
    else append_java_scalar(in, row, text);
    return "column '" + names_[0] + "': '" + text + "' is not one of the labels";
  }

  const Dictionary* dictionary_;
  TextIndex index_;
  double unknown_;
  bool keep_, absent_;
};

// Number -> String; Vector or List -> List of String.
class IndexToString final : public ColumnStage {
 public:
  explicit IndexToString(StageSpec& spec)
      : ColumnStage(spec), labels_(spec.text_ids(stages::index_to_string::labels)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    if (Vectors::reads(in)) return lists(run, in, rows);
    if (!Numbers::reads(in) && !all_missing(in, rows)) return mismatch(0, in, "a number");
    const Numbers numbers(in);
    Column& out = run.out(outputs_[0], Type::String, rows);
    return each_row(run, rows, out, [&](uint32_t row) {
      if (!in.valid(row)) out.set_missing(row);
      else if (const double index = numbers[row]; has(index)) out.texts[row] = label_at(index);
      else return unseen(index);
      return std::string();
    });
  }

 private:
  // Java's cast to an integer: towards 0, of NaN 0.
  bool has(double index) const {
    return std::isnan(index) ? !labels_.empty()
                             : index > -1 && index < static_cast<double>(labels_.size());
  }
  TextId label_at(double index) const {
    return labels_[static_cast<size_t>(std::isnan(index) ? 0 : index)];
  }
  std::string unseen(double index) const {
    return "column '" + names_[0] + "': no label has the index " + java_double(index) +
           ", there are " + std::to_string(labels_.size());
  }

  Status lists(Run& run, const Column& in, Rows rows) const {
    Vectors vectors(in);
    Column& out = run.out(outputs_[0], Type::List, rows, Type::String);
    return each_row(run, rows, out, [&](uint32_t row) {
      if (!in.valid(row)) return std::string();
      const VectorRow vector = vectors[row];
      for (size_t k = 0; k < vector.size; ++k) {
        const double index = vector.at(k);
        if (!has(index)) return unseen(index);
        out.texts.push_back(label_at(index));
      }
      out.end_row();
      return std::string();
    });
  }

  std::vector<TextId> labels_;
};

// String -> Double.
class StringMap final : public ColumnStage {
 public:
  explicit StringMap(StageSpec& spec)
      : ColumnStage(spec),
        index_(spec.text_ids(stages::string_map::labels)),
        values_(spec.reals(stages::string_map::values)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
    if (spec.has(stages::string_map::fallback)) fallback_ = spec.real(stages::string_map::fallback);
    if (spec.texts(stages::string_map::labels).size() != values_.size()) {
      spec.fail("expected a value for each label");
    }
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    if (!is_text(in.type) && !all_missing(in, rows)) return mismatch(0, in, "a string");
    Column& out = run.out(outputs_[0], Type::Double, rows);
    return each_row(run, rows, out, [&](uint32_t row) -> std::string {
      if (!in.valid(row)) return missing(0);
      const int32_t at = index_[in.texts[row]];
      if (at < 0 && !fallback_) {
        return "column '" + names_[0] + "': there is no value for '" +
               std::string(run.frame.strings.text(in.texts[row])) + "'";
      }
      out.reals[row] = at >= 0 ? values_[static_cast<size_t>(at)] : *fallback_;
      return {};
    });
  }

 private:
  TextIndex index_;
  std::span<const double> values_;
  std::optional<double> fallback_;
};

// String -> Int32: of the first expression that is found in the text.
class RegexIndexer final : public ColumnStage {
 public:
  explicit RegexIndexer(StageSpec& spec)
      : ColumnStage(spec), indices_(spec.integers(stages::regex_indexer::indices)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
    for (const std::string_view text : spec.texts(stages::regex_indexer::regexes)) {
      Result<JavaRegex> made = JavaRegex::compile(text);
      if (made.ok()) regexes_.push_back(std::move(made.value()));
      else spec.fail(made.error().message);
    }
    if (!spec.failed() && regexes_.size() != indices_.size()) {
      spec.fail("expected an index for each expression");
    }
    if (spec.has(stages::regex_indexer::fallback))
      fallback_ = spec.integer(stages::regex_indexer::fallback);
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    if (!is_text(in.type) && !all_missing(in, rows)) return mismatch(0, in, "a string");
    Column& out = run.out(outputs_[0], Type::Int32, rows);
    return each_row(run, rows, out, [&](uint32_t row) {
      if (!in.valid(row)) return missing(0);
      return index_of(run.frame.strings.text(in.texts[row]), out.integers[row]);
    });
  }

 private:
  std::string index_of(std::string_view text, int64_t& index) const {
    RegexRun run;
    for (size_t i = 0; i < regexes_.size(); ++i) {
      run.start();
      const RegexFound found = regexes_[i].find(text, run);
      if (found == RegexFound::TooLong) {
        return "column '" + names_[0] + "': " + JavaRegex::too_long();
      }
      if (found == RegexFound::No) continue;
      index = indices_[i];
      return {};
    }
    if (!fallback_) return "column '" + names_[0] + "': the text contains none of the expressions";
    index = *fallback_;
    return {};
  }

  std::vector<JavaRegex> regexes_;
  std::span<const int32_t> indices_;
  std::optional<int32_t> fallback_;
};

// Number -> Double, by a table of numbers.
class NumberMap final : public ColumnStage {
 public:
  explicit NumberMap(StageSpec& spec) : ColumnStage(spec) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
    const std::span<const double> keys = spec.reals(stages::number_map::keys),
                                  values = spec.reals(stages::number_map::values);
    if (spec.has(stages::number_map::missing)) of_missing_ = spec.real(stages::number_map::missing);
    if (spec.has(stages::number_map::other)) of_other_ = spec.real(stages::number_map::other);
    if (keys.size() != values.size()) spec.fail("expected a value for each key");
    for (size_t i = 0; i < std::min(keys.size(), values.size()); ++i)
      table_.push_back({keys[i], values[i]});
    std::stable_sort(table_.begin(), table_.end(),
                     [](const Entry& a, const Entry& b) { return a.key < b.key; });
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    if (!Numbers::reads(in) && !all_missing(in, rows)) return mismatch(0, in, "a number");
    const Numbers numbers(in);
    Column& out = run.out(outputs_[0], Type::Double, rows);
    return each_row(run, rows, out, [&](uint32_t row) -> std::string {
      const std::optional<double> value = in.valid(row) ? value_of(numbers[row]) : of_missing_;
      if (value) out.reals[row] = *value;
      if (value) return {};
      if (!in.valid(row)) return missing(0);
      return "column '" + names_[0] + "': there is no entry for " + java_double(numbers[row]);
    });
  }

 private:
  struct Entry {
    double key, value;
  };
  std::optional<double> value_of(double key) const {
    const auto found =
        std::lower_bound(table_.begin(), table_.end(), key,
                         [](const Entry& entry, double wanted) { return entry.key < wanted; });
    return found != table_.end() && found->key == key ? std::optional(found->value) : of_other_;
  }

  std::vector<Entry> table_;
  std::optional<double> of_missing_, of_other_;
};

constexpr StageKind kStringsKinds[] = {
    {stages::string_indexer::kind, make_stage<StringIndexer>},
    {stages::index_to_string::kind, make_stage<IndexToString>},
    {stages::string_map::kind, make_stage<StringMap>},
    {stages::regex_indexer::kind, make_stage<RegexIndexer>},
    {stages::number_map::kind, make_stage<NumberMap>},
};

}  // namespace

std::span<const StageKind> string_kinds() { return kStringsKinds; }

}  // namespace serval::tabular
