// Kinds on text and lists of words: tokenizer, regex_tokenizer, stop_words, ngram, word_filter. Hot
// path: run; any thread. Source: tabular.md 5.3
#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "base/unicode/letters.h"
#include "tabular/features/columns.h"
#include "tabular/features/kinds.h"
#include "tabular/features/text_index.h"
#include "tabular/java/regex.h"

namespace serval::tabular {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// String -> List of String.
class TokenStage : public ColumnStage {
 public:
  Status run(Run& run, Rows rows) const final {
    const Column& in = run.in(inputs_[0]);
    if (!is_text(in.type) && !all_missing(in, rows)) return mismatch(0, in, "a string");
    Column& out = run.out(outputs_[0], Type::List, rows, Type::String);
    std::string lowered;
    return each_row(run, rows, out, [&](uint32_t row) {
      if (!in.valid(row)) return missing(0);
      std::string_view text = run.frame.strings.text(in.texts[row]);
      if (lower_) {
        lowered.clear();
        append_lower_case(text, lowered);
        text = lowered;
      }
      std::string fault = split(text, run.frame.strings, out.texts);
      if (fault.empty()) out.end_row();
      return fault;
    });
  }

 protected:
  TokenStage(StageSpec& spec, bool lower) : ColumnStage(spec), lower_(lower) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
  }
  virtual std::string split(std::string_view text, Strings& strings,
                            std::vector<TextId>& words) const = 0;

 private:
  bool lower_;
};

// Java's String.split: drops empty texts at the end; without a separator it returns the whole text.
class Tokenizer final : public TokenStage {
 public:
  explicit Tokenizer(StageSpec& spec) : TokenStage(spec, true) {}

 private:
  std::string split(std::string_view text, Strings& strings,
                    std::vector<TextId>& words) const override {
    std::string_view kept = text;
    while (!kept.empty() && is_space(kept.back())) kept.remove_suffix(1);
    if (kept.empty() && !text.empty()) return {};
    size_t begin = 0;
    for (size_t i = 0; i <= kept.size(); ++i) {
      if (i < kept.size() && !is_space(kept[i])) continue;
      words.push_back(strings.intern(kept.substr(begin, i - begin)));
      begin = i + 1;
    }
    return {};
  }
};

class RegexTokenizer final : public TokenStage {
 public:
  explicit RegexTokenizer(StageSpec& spec)
      : TokenStage(spec, spec.flag(stages::regex_tokenizer::toLowercase)),
        gaps_(spec.flag(stages::regex_tokenizer::gaps)),
        length_min_(spec.integer(stages::regex_tokenizer::minTokenLength)) {
    Result<JavaRegex> made = JavaRegex::compile(spec.text(stages::regex_tokenizer::pattern));
    if (made.ok()) regex_ = std::move(made.value());
    else spec.fail(made.error().message);
  }

 private:
  std::string split(std::string_view text, Strings& strings,
                    std::vector<TextId>& words) const override {
    const bool done = gaps_ ? between(text, strings, words) : matches(text, strings, words);
    return done ? std::string() : "column '" + names_[0] + "': " + JavaRegex::too_long();
  }

  void put(std::string_view word, Strings& strings, std::vector<TextId>& words) const {
    if (length_min_ <= 0 || utf16_length(word) >= static_cast<size_t>(length_min_)) {
      words.push_back(strings.intern(word));
    }
  }

  // Both functions return false if the expression takes too many steps.
  bool matches(std::string_view text, Strings& strings, std::vector<TextId>& words) const {
    RegexRun run;
    RegexFound found = regex_->find(text, run);
    for (; found == RegexFound::Yes; found = regex_->find(text, run)) {
      const auto [begin, end] = run.match();
      put(text.substr(begin, end - begin), strings, words);
    }
    return found == RegexFound::No;
  }

  // Java's Pattern.split: no empty text before an empty match at the beginning, and none at the
  // end.
  bool between(std::string_view text, Strings& strings, std::vector<TextId>& words) const {
    std::vector<std::string_view> parts;
    size_t kept = 0;
    RegexRun run;
    RegexFound found = regex_->find(text, run);
    for (; found == RegexFound::Yes; found = regex_->find(text, run)) {
      const auto [begin, end] = run.match();
      if (end == 0) continue;
      parts.push_back(text.substr(kept, begin - kept));
      kept = end;
    }
    if (kept == 0) {  // no match
      put(text, strings, words);
      return found == RegexFound::No;
    }
    parts.push_back(text.substr(kept));
    while (!parts.empty() && parts.back().empty()) parts.pop_back();
    for (const std::string_view part : parts) put(part, strings, words);
    return found == RegexFound::No;
  }

  bool gaps_;
  int32_t length_min_;
  std::optional<JavaRegex> regex_;
};

// List of String -> List of String.
class WordsStage : public ColumnStage {
 public:
  Status run(Run& run, Rows rows) const final {
    const Column& in = run.in(inputs_[0]);
    const bool words = in.type == Type::List && is_text(in.element);
    if (!words && !all_missing(in, rows)) return mismatch(0, in, "a list of strings");
    Column& out = run.out(outputs_[0], Type::List, rows, Type::String);
    return each_row(run, rows, out, [&](uint32_t row) {
      if (!in.valid(row)) return missing(0);
      answer(in.row_texts(row), run.frame.strings, out.texts);
      out.end_row();
      return std::string();
    });
  }

 protected:
  explicit WordsStage(StageSpec& spec) : ColumnStage(spec) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
  }
  virtual void answer(std::span<const TextId> words, Strings& strings,
                      std::vector<TextId>& out) const = 0;
};

class StopWords final : public WordsStage {
 public:
  explicit StopWords(StageSpec& spec)
      : WordsStage(spec),
        dictionary_(&spec.dictionary()),
        exact_(spec.flag(stages::stop_words::caseSensitive)) {
    std::vector<TextId> stops;
    for (const std::string_view word : spec.texts(stages::stop_words::stopWords)) {
      std::string lowered;
      if (!exact_) append_lower_case(word, lowered);
      stops.push_back(spec.dictionary().add(exact_ ? word : lowered));
    }
    stops_ = TextIndex(stops);
  }

 private:
  void answer(std::span<const TextId> words, Strings& strings,
              std::vector<TextId>& out) const override {
    std::string lowered;
    for (const TextId word : words) {
      TextId compared = word;
      if (!exact_) {
        lowered.clear();
        append_lower_case(strings.text(word), lowered);
        compared = dictionary_->find(lowered);
      }
      if (stops_[compared] < 0) out.push_back(word);
    }
  }

  const Dictionary* dictionary_;
  bool exact_;
  TextIndex stops_;
};

class Ngram final : public WordsStage {
 public:
  explicit Ngram(StageSpec& spec) : WordsStage(spec), n_(spec.integer(stages::ngram::n)) {
    if (n_ < 1) spec.fail("expected 1 word or more");
  }

 private:
  void answer(std::span<const TextId> words, Strings& strings,
              std::vector<TextId>& out) const override {
    const auto n = static_cast<size_t>(n_);
    std::string joined;
    for (size_t i = 0; i + n <= words.size(); ++i) {
      joined.clear();
      for (size_t k = i; k < i + n; ++k) {
        if (k > i) joined.push_back(' ');
        joined += strings.text(words[k]);
      }
      out.push_back(strings.intern(joined));
    }
  }
  int32_t n_;
};

// Words of letters only that are longer than `length`. A letter is one of 16 bits, as in Java's
// Character.isLetter(char).
class WordFilter final : public WordsStage {
 public:
  explicit WordFilter(StageSpec& spec)
      : WordsStage(spec), length_(spec.integer(stages::word_filter::length)) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    letters_ = std::make_unique<re2::RE2>("\\p{L}*", options);
  }

 private:
  void answer(std::span<const TextId> words, Strings& strings,
              std::vector<TextId>& out) const override {
    for (const TextId word : words) {
      const std::string_view text = strings.text(word);
      if (length_ >= 0 && utf16_length(text) <= static_cast<size_t>(length_)) continue;
      const bool beyond = std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) >= 0xF0;  // of two units, which are no letters
      });
      if (!beyond && re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *letters_)) {
        out.push_back(word);
      }
    }
  }
  int32_t length_;
  std::unique_ptr<re2::RE2> letters_;
};

constexpr StageKind kTokensKinds[] = {
    {stages::tokenizer::kind, make_stage<Tokenizer>},
    {stages::regex_tokenizer::kind, make_stage<RegexTokenizer>},
    {stages::stop_words::kind, make_stage<StopWords>},
    {stages::ngram::kind, make_stage<Ngram>},
    {stages::word_filter::kind, make_stage<WordFilter>},
};

}  // namespace

std::span<const StageKind> token_kinds() { return kTokensKinds; }

}  // namespace serval::tabular
