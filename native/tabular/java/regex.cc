// Java's regular expressions by RE2 (regex.h). Hot path; any thread.
#include "tabular/java/regex.h"

#include <re2/re2.h>

#include <array>

#include "base/limits.h"

namespace serval::tabular {
namespace {

constexpr std::string_view kLineEnds = "\\n\\r\\x{85}\\x{2028}\\x{2029}";

struct NamedClass {
  std::string_view java, inside, outside;  // inside of brackets; as an item of its own, negated
};

// Java's \p{...} that RE2 does not know by that name; ASCII only, as in Java without flags.
constexpr std::array<NamedClass, 13> kNamed = {{
    {"Lower", "[:lower:]", "[:^lower:]"},
    {"Upper", "[:upper:]", "[:^upper:]"},
    {"ASCII", "[:ascii:]", "[:^ascii:]"},
    {"Alpha", "[:alpha:]", "[:^alpha:]"},
    {"Digit", "[:digit:]", "[:^digit:]"},
    {"Alnum", "[:alnum:]", "[:^alnum:]"},
    {"Punct", "[:punct:]", "[:^punct:]"},
    {"Graph", "[:graph:]", "[:^graph:]"},
    {"Print", "[:print:]", "[:^print:]"},
    {"Blank", "[:blank:]", "[:^blank:]"},
    {"Cntrl", "[:cntrl:]", "[:^cntrl:]"},
    {"XDigit", "[:xdigit:]", "[:^xdigit:]"},
    {"Space", " \\t\\n\\x0B\\f\\r", ""},
}};

class Translator {
 public:
  explicit Translator(std::string_view java) : java_(java) {}

  Result<std::string> run(bool& has_end) {
    while (at_ < java_.size() && fault_.empty()) step();
    has_end = has_end_;
    if (fault_.empty()) return std::move(out_);
    return make_error(ErrorCode::ModelInvalid, "regular expression '" + std::string(java_) +
                                                   "', character " + std::to_string(fault_at_) +
                                                   ": " + fault_);
  }

 private:
  bool sees(std::string_view text) const { return java_.substr(at_).starts_with(text); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < java_.size() ? java_[at_ + ahead] : '\0';
  }
  void fail(std::string what) {
    if (!fault_.empty()) return;
    fault_ = std::move(what);
    fault_at_ = at_;
  }

  void step() {
    switch (peek()) {
      case '\\': escape(); return;
      case '[': bracket(); return;
      case '(': group(); return;
      case '.':
        out_ += dot_all_ ? std::string("(?s:.)") : "[^" + std::string(kLineEnds) + "]";
        ++at_;
        break;
      case '$':
        has_end_ = true;
        out_ += "\\z";
        ++at_;
        return;
      case '^':
        out_ += "\\A";
        ++at_;
        return;
      case '*':
      case '+':
      case '?':
      case '{': quantifier(); return;
      default: out_.push_back(java_[at_++]); return;
    }
  }

  void quantifier() {
    size_t end = at_ + 1;
    if (peek() == '{') {
      end = java_.find('}', at_);
      if (end == std::string_view::npos) return fail("a { without }");
      ++end;
    }
    out_ += java_.substr(at_, end - at_);
    at_ = end;
    if (peek() == '+') return fail("possessive quantifiers are not supported");
    if (peek() == '?') out_.push_back(java_[at_++]);
  }

  void group() {
    if (!sees("(?")) {
      out_.push_back(java_[at_++]);
      return;
    }
    if (sees("(?=") || sees("(?!") || sees("(?<=") || sees("(?<!")) {
      return fail("looking around is not supported");
    }
    if (sees("(?>")) return fail("atomic groups are not supported");
    if (sees("(?<")) {
      out_ += "(?P<";
      at_ += 3;
      return;
    }
    if (sees("(?:")) {
      out_ += "(?:";
      at_ += 3;
      return;
    }
    // Flags: in front of the whole expression only, where what they hold for is plain.
    const size_t end = java_.find_first_not_of("is", at_ + 2);
    if (at_ != 0 || end == at_ + 2 || end == std::string_view::npos || java_[end] != ')') {
      return fail("flags are supported in front only, of i and s");
    }
    const std::string_view flags = java_.substr(at_ + 2, end - at_ - 2);
    dot_all_ = flags.find('s') != std::string_view::npos;
    if (flags.find('i') != std::string_view::npos) out_ += "(?i)";
    at_ = end + 1;
  }

  // \x of a letter or a digit, outside of brackets or inside.
  void escape(bool inside = false) {
    const char next = peek(1);
    const auto item = [&](std::string_view set, bool negated) {
      if (inside && negated) return fail("a negated space class in a class is not supported");
      if (!inside) out_ += negated ? "[^" : "[";
      out_ += set;
      if (!inside) out_.push_back(']');
      at_ += 2;
    };
    switch (next) {
      case '\0': return fail("nothing behind \\");
      case 's': return item(kNamed[12].inside, false);
      case 'S': return item(kNamed[12].inside, true);
      case 'v': return item("\\n\\x0B\\f\\r\\x{85}\\x{2028}\\x{2029}", false);
      case 'h':
        return item(
            " \\t\\x{A0}\\x{1680}\\x{180E}\\x{2000}-\\x{200A}\\x{202F}\\x{205F}"
            "\\x{3000}",
            false);
      case 'd':
      case 'D':
      case 'w':
      case 'W':
      case 't':
      case 'n':
      case 'r':
      case 'f':
      case 'a': break;
      case 'b':
      case 'B':
      case 'A':
      case 'z':
        if (inside) return fail(std::string("\\") + next + " in a class");
        break;
      case 'e':
        out_ += "\\x1B";
        at_ += 2;
        return;
      case 'p':
      case 'P': return property(inside);
      case 'Q': return quoted();
      case 'u': return code_unit();
      case 'x':
        if (peek(2) == '{') {
          const size_t end = java_.find('}', at_);
          if (end == std::string_view::npos) return fail("\\x{ without }");
          out_ += java_.substr(at_, end + 1 - at_);
          at_ = end + 1;
          return;
        }
        out_ += java_.substr(at_, 4);
        at_ += 4;
        return;
      default:
        if ((next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z')) {
          return fail(std::string("\\") + next + " is not supported");
        }
        if (next >= '1' && next <= '9') return fail("references back are not supported");
        if (next == '0') return fail("octal escapes are not supported");
        if (static_cast<unsigned char>(next) >= 0x80) {
          ++at_;  // the character itself
          return;
        }
    }
    out_ += java_.substr(at_, 2);
    at_ += 2;
  }

  // \p{Alpha}, \pL
  void property(bool inside) {
    const bool negated = peek(1) == 'P';
    const bool braced = peek(2) == '{';
    const size_t begin = at_ + (braced ? 3 : 2);
    const size_t end = braced ? java_.find('}', begin) : begin + 1;
    if (end == std::string_view::npos || end > java_.size()) return fail("\\p without a name");
    std::string_view name = java_.substr(begin, end - begin);
    at_ = end + (braced ? 1 : 0);
    for (const NamedClass& known : kNamed) {
      if (known.java != name) continue;
      if (negated && known.outside.empty()) {
        if (inside) return fail("\\P{Space} in a class is not supported");
        out_ += "[^" + std::string(known.inside) + "]";
        return;
      }
      const std::string_view set = negated ? known.outside : known.inside;
      out_ += inside ? std::string(set) : "[" + std::string(set) + "]";
      return;
    }
    if (name.starts_with("Is") && name.size() > 2) name.remove_prefix(2);
    if (name.starts_with("script=")) name.remove_prefix(7);
    if (name == "Alphabetic" || name.starts_with("In") || name.starts_with("java") ||
        name.find('=') != std::string_view::npos) {
      return fail("\\p{" + std::string(name) + "} is not supported");
    }
    out_ += (negated ? "\\P{" : "\\p{") + std::string(name) + "}";
  }

  void quoted() {
    at_ += 2;
    const size_t end = std::min(java_.find("\\E", at_), java_.size());
    const std::string_view text = java_.substr(at_, end - at_);
    out_ += re2::RE2::QuoteMeta(re2::StringPiece(text.data(), text.size()));
    at_ = std::min(end + 2, java_.size());
  }

  void code_unit() {
    const std::string_view digits = java_.substr(std::min(at_ + 2, java_.size()), 4);
    if (digits.size() != 4 ||
        digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      return fail("\\u without four hexadecimal digits");
    }
    out_ += "\\x{" + std::string(digits) + "}";
    at_ += 6;
  }

  // A class: [ ... ].
  void bracket() {
    out_.push_back('[');
    ++at_;
    if (peek() == '^') {
      out_.push_back('^');
      ++at_;
    }
    if (peek() == ']') return fail("an empty class");
    while (at_ < java_.size() && fault_.empty() && peek() != ']') {
      if (peek() == '[') return fail("a class in a class is not supported");
      if (sees("&&")) return fail("intersections of classes are not supported");
      if (peek() == '\\') {
        if (peek(1) == 'Q') return fail("\\Q in a class is not supported");
        escape(true);
      } else {
        out_.push_back(java_[at_++]);
      }
    }
    if (peek() != ']') return fail("a [ without ]");
    out_.push_back(']');
    ++at_;
  }

  std::string_view java_;
  std::string out_;
  size_t at_ = 0, fault_at_ = 0;
  std::string fault_;
  bool has_end_ = false, dot_all_ = false;
};

bool ends_line(std::string_view text) {
  for (const std::string_view end : {"\n", "\r", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    if (text.ends_with(end)) return true;
  }
  return false;
}

}  // namespace

Result<std::string> to_re2(std::string_view java, bool& has_end) {
  return Translator(java).run(has_end);
}

Result<JavaRegex> JavaRegex::compile(std::string_view text) {
  JavaRegex made;
  Result<std::string> translated = to_re2(text, made.has_end_);
  if (!translated.ok()) return std::move(translated.error());
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexProgramBytesMax);
  made.re2_ = std::make_shared<const re2::RE2>(translated.value(), options);
  if (made.re2_->ok()) return made;
  return make_error(ErrorCode::ModelInvalid,
                    "regular expression '" + std::string(text) + "': " + made.re2_->error());
}

bool JavaRegex::find(std::string_view text, size_t from, Match& match) const {
  re2::StringPiece found;
  const re2::StringPiece subject(text.data(), text.size());
  if (!re2_->Match(subject, from, text.size(), re2::RE2::UNANCHORED, &found, 1)) return false;
  match.begin = static_cast<size_t>(found.data() - text.data());
  match.end = match.begin + found.size();
  return true;
}

bool JavaRegex::matches(std::string_view text) const {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *re2_);
}

bool JavaRegex::is_unsure_of(std::string_view text) const { return has_end_ && ends_line(text); }

}  // namespace serval::tabular
