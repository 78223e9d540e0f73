// Java's regular expressions (regex.h). Hot path; any thread.
#include "tabular/java/regex.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/bytes/views.h"
#include "base/limits.h"
#include "base/unicode/letters.h"
#include "tabular/java/regex/re2.h"

namespace serval::tabular {
namespace {

bool ends_line(std::string_view text) {
  for (const std::string_view end : {"\n", "\r", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Null if RE2 rejects the expression.
std::unique_ptr<const re2::RE2> made_re2(const std::string& text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexProgramBytesMax);
  auto made = std::make_unique<const re2::RE2>(text, options);
  return made->ok() ? std::move(made) : nullptr;
}

}  // namespace

struct JavaRegex::State {
  regex::Program program;
  std::vector<regex::Names> names;
  std::unique_ptr<const re2::RE2> re2;  // may be null
  bool has_end = false, ascii_only = false;

  bool fits_re2(std::string_view text) const {
    return re2 != nullptr && !(has_end && ends_line(text)) && !(ascii_only && !is_ascii(text));
  }

  bool search_re2(std::string_view text, size_t from, bool whole, RegexRun& run) const {
    std::vector<re2::StringPiece> found(static_cast<size_t>(program.groups) + 1);
    const re2::StringPiece subject(text.data(), text.size());
    const auto anchor = whole ? re2::RE2::ANCHOR_BOTH : re2::RE2::UNANCHORED;
    if (!re2->Match(subject, from, text.size(), anchor, found.data(),
                    static_cast<int>(found.size()))) {
      return false;
    }
    run.places.assign(found.size() * 2, regex::kNoPlace);
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].data() == nullptr) continue;
      run.places[i * 2] = static_cast<size_t>(found[i].data() - text.data());
      run.places[i * 2 + 1] = run.places[i * 2] + found[i].size();
    }
    return true;
  }

  RegexFound search(std::string_view text, bool whole, RegexRun& run) const {
    if (fits_re2(text)) {
      return search_re2(text, run.from, whole, run) ? RegexFound::Yes : RegexFound::No;
    }
    const regex::Subject subject{text, run.from, run.last_end, whole, &run.steps};
    return regex::search(program, subject, run.places);
  }
};

Result<JavaRegex> JavaRegex::compile(std::string_view text) {
  Result<regex::Tree> tree = regex::parse(text);
  if (!tree.ok()) return std::move(tree.error());
  Result<regex::Program> program = regex::compile(tree.value());
  if (!program.ok()) {
    return make_error(ErrorCode::ModelInvalid,
                      "regular expression '" + std::string(text) + "': " + program.error().message);
  }
  auto state = std::make_shared<State>();
  state->program = std::move(program.value());
  state->names = std::move(tree.value().names);
  if (const auto alike = regex::to_re2(tree.value())) {
    state->re2 = made_re2(alike->text);
    state->has_end = alike->has_end;
    state->ascii_only = alike->ascii_only;
  }
  JavaRegex made;
  made.state_ = std::move(state);
  return made;
}

RegexFound JavaRegex::find(std::string_view text, RegexRun& run) const {
  if (run.from > text.size()) return RegexFound::No;
  const RegexFound found = state_->search(text, false, run);
  if (found != RegexFound::Yes) {
    run.from = text.size() + 1;
    return found;
  }
  const auto [begin, end] = run.match();
  run.last_end = run.from = end;
  // After an empty match the next one starts a character later.
  if (begin == end) run.from += end < text.size() ? front_character(text.substr(end)).bytes : 1;
  return found;
}

RegexFound JavaRegex::matches(std::string_view text, RegexRun& run) const {
  run.start();
  return state_->search(text, true, run);
}

int JavaRegex::groups() const { return state_->program.groups; }

int JavaRegex::group_of(std::string_view name) const {
  const auto at = std::ranges::find(state_->names, name, &regex::Names::name);
  return at == state_->names.end() ? -1 : at->group;
}

std::string JavaRegex::too_long() {
  return "a regular expression takes more than " + std::to_string(regex::kRegexStepsMax) +
         " steps on the text";
}

Result<JavaReplacement> JavaReplacement::parse(std::string_view text, const JavaRegex& regex) {
  JavaReplacement made;
  const auto wrong = [](std::string what) {
    return make_error(ErrorCode::ModelInvalid, "a replacement: " + std::move(what));
  };
  const auto add = [&](char c) {
    if (made.pieces_.empty() || made.pieces_.back().group >= 0) made.pieces_.emplace_back();
    made.pieces_.back().text += c;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      if (++i == text.size()) return wrong("it ends with a \\");
      add(text[i]);
      continue;
    }
    if (text[i] != '$') {
      add(text[i]);
      continue;
    }
    int group = -1;
    if (i + 1 < text.size() && text[i + 1] == '{') {
      const size_t end = text.find('}', i);
      if (end == std::string_view::npos) return wrong("expected } after ${");
      const std::string_view name = text.substr(i + 2, end - i - 2);
      group = regex.group_of(name);
      if (group < 0) return wrong("there is no group '" + std::string(name) + "'");
      i = end;
    } else {
      if (i + 1 == text.size() || !is_digit(text[i + 1])) {
        return wrong("expected a group's number after $");
      }
      group = text[++i] - '0';
      for (; i + 1 < text.size() && is_digit(text[i + 1]); ++i) {
        const int longer = group * 10 + (text[i + 1] - '0');
        if (longer > regex.groups()) break;
        group = longer;
      }
      if (group > regex.groups()) return wrong("there is no group " + std::to_string(group));
    }
    made.pieces_.push_back({group, {}});
  }
  return made;
}

JavaReplacement::Done JavaReplacement::replace_all(const JavaRegex& regex, std::string_view text,
                                                   std::string& out, size_t bytes_max) const {
  RegexRun run;
  size_t copied = 0;
  RegexFound found = regex.find(text, run);
  for (; found == RegexFound::Yes; found = regex.find(text, run)) {
    const auto [begin, end] = run.match();
    out += text.substr(copied, begin - copied);
    for (const Piece& piece : pieces_) {
      out += piece.text;
      if (piece.group < 0) continue;
      if (const auto group = run.group(piece.group)) {
        out += text.substr(group->begin, group->end - group->begin);
      }
    }
    copied = end;
    if (out.size() > bytes_max) return Done::TooLarge;
  }
  out += text.substr(copied);
  return found == RegexFound::TooLong ? Done::TooLong : Done::All;
}

}  // namespace serval::tabular
