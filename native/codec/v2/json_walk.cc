// JSON syntax for the plain V2 decoder: an iterative check with words of our own (V2 clients do not
// depend on upstream's), and steps over text that passed it. Any thread.
#include "codec/v2/json_walk.h"

#include <vector>

#include "base/bytes/utf8.h"
#include "codec/json/echo.h"

namespace serval::v2 {

namespace {

constexpr size_t kStructureDepth = 3;  // {"inputs": [ {"data": [

class Check {
 public:
  Check(std::string_view text, size_t depth_max, Arena& arena)
      : text_(text), depth_max_(depth_max), lexer_(text, arena) {}

  Status run();

 private:
  Status expected(std::string_view what) const;
  Status wrong_token(std::string_view what) const;
  Status open(char bracket);
  Status value();
  Status key();
  // Takes commas and closing brackets up to the place of the next value; `done` at the root's end.
  Status behind_value(bool& done);

  std::string_view text_;
  size_t depth_max_;
  JsonLexer lexer_;
  std::vector<char> closers_;  // of the open lists and objects
};

std::string at_byte(size_t position) {
  return "malformed JSON at byte " + std::to_string(position) + ": ";
}

Status Check::expected(std::string_view what) const {
  const size_t at = lexer_.position();
  std::string text = at_byte(at) + "expected " + std::string(what) + ", got ";
  if (at >= text_.size()) return malformed_body(text + "the end of the text");
  const auto c = static_cast<unsigned char>(text_[at]);
  if (c > 0x20 && c < 0x7f) return malformed_body(text + "'" + text_[at] + "'");
  return malformed_body(text + "byte " + std::to_string(c));
}

Status Check::wrong_token(std::string_view what) const {
  std::string_view reason = lexer_.reason();
  if (reason == json_reason::kInvalidValue) return expected(what);
  if (reason.ends_with('.')) reason.remove_suffix(1);
  return malformed_body(at_byte(lexer_.error_offset()) + std::string(reason));
}

Status Check::open(char bracket) {
  if (closers_.size() == depth_max_) {
    return malformed_body(at_byte(lexer_.position()) + "nested more than " +
                          std::to_string(depth_max_) + " levels deep");
  }
  closers_.push_back(bracket == '[' ? ']' : '}');
  lexer_.skip();
  lexer_.skip_blanks();
  return {};
}

Status Check::key() {
  std::string_view unused;
  if (lexer_.peek() != '"') return expected("a member's name in quotes");
  if (!lexer_.string(unused)) return wrong_token("a member's name");
  lexer_.skip_blanks();
  if (!lexer_.take(':')) return expected("':'");
  lexer_.skip_blanks();
  return {};
}

Status Check::value() {
  const char c = lexer_.peek();
  std::string_view text;
  JsonNumber number;
  bool ok = false;
  if (c == '"') {
    ok = lexer_.string(text);
  } else if (c == 'n' || c == 't' || c == 'f') {
    ok = lexer_.word(c == 'n' ? "null" : c == 't' ? "true" : "false");
  } else {
    ok = lexer_.number(number);
  }
  return ok ? Status() : wrong_token("a value");
}

Status Check::behind_value(bool& done) {
  while (!closers_.empty()) {
    lexer_.skip_blanks();
    const bool object = closers_.back() == '}';
    if (lexer_.take(',')) {
      lexer_.skip_blanks();
      return object ? key() : Status();
    }
    if (!lexer_.take(closers_.back())) return expected(object ? "',' or '}'" : "',' or ']'");
    closers_.pop_back();
  }
  done = true;
  return {};
}

Status Check::run() {
  lexer_.skip_byte_order_mark();
  lexer_.skip_blanks();
  for (bool done = false; !done;) {
    Status status;
    const char c = lexer_.peek();
    if (c == '[' || c == '{') {
      status = open(c);
      if (!status.ok()) return status;
      const bool empty = lexer_.peek() == closers_.back();
      if (!empty) {
        if (c == '{') status = key();
        if (!status.ok()) return status;
        continue;
      }
    } else {
      status = value();
      if (!status.ok()) return status;
    }
    status = behind_value(done);
    if (!status.ok()) return status;
  }
  lexer_.skip_blanks();
  if (lexer_.position() < text_.size()) return expected("the end of the text");
  lexer_.finish();
  return {};
}

// Where the first byte stands that is not part of valid UTF-8.
size_t first_bad_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t length = 1;
    while (length <= 4 && !is_valid_utf8(text.substr(at, length))) ++length;
    if (length > 4) return at;
    at += length;
  }
  return at;
}

bool is_behind_scalar(char c) { return c == ',' || c == ']' || c == '}' || c <= ' '; }

}  // namespace

Status check_json(std::string_view text, uint32_t depth_max, Arena& arena) {
  if (!is_valid_utf8(text)) {
    return malformed_body(at_byte(first_bad_utf8(text)) + "expected UTF-8, got an invalid byte");
  }
  return Check(text, size_t{depth_max} + kStructureDepth, arena).run();
}

size_t behind_blanks(std::string_view text, size_t at) {
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) {
    ++at;
  }
  return at;
}

size_t json_start(std::string_view text) {
  return behind_blanks(text, text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
}

JsonKind kind_at(std::string_view text, size_t at) {
  switch (text[at]) {
    case '{': return JsonKind::Object;
    case '[': return JsonKind::Array;
    case '"': return JsonKind::String;
    case 't': return JsonKind::True;
    case 'f': return JsonKind::False;
    case 'n': return JsonKind::Null;
    default: return JsonKind::Number;
  }
}

size_t value_end(std::string_view text, size_t at) {
  size_t depth = 0;
  do {
    const char c = text[at];
    if (c == '"') {
      for (++at; text[at] != '"'; ++at) at += text[at] == '\\';
      ++at;
    } else if (c == '[' || c == '{') {
      ++depth;
      ++at;
    } else if (c == ']' || c == '}') {
      --depth;
      ++at;
    } else if (depth != 0) {
      ++at;  // what stands in a list or an object, one byte at a time
    } else {
      while (at < text.size() && !is_behind_scalar(text[at])) ++at;
      return at;
    }
  } while (depth != 0);
  return at;
}

bool string_at(std::string_view text, size_t at, Arena& arena, std::string_view& out) {
  JsonLexer lexer(value_text(text, at), arena);
  const bool ok = lexer.string(out);
  lexer.finish();
  return ok;
}

}  // namespace serval::v2
