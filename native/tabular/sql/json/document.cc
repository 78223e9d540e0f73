// JSON reader and writer. Pure; any thread.
#include "tabular/sql/json/document.h"

#include "base/unicode/letters.h"
#include "tabular/java/number_text.h"
#include "tabular/sql/number_text.h"

namespace serval::tabular::sql {

namespace {

constexpr int kDepthMax = 1000;

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool value(Json& out, int depth = 0) {
    skip();
    if (rest_.empty() || depth > kDepthMax) return false;
    switch (rest_.front()) {
      case '{': return object(out, depth);
      case '[': return array(out, depth);
      case '"':
      case '\'': out.kind = Json::Kind::Text; return text(out.text);
      case 't': out.kind = Json::Kind::True; return word("true");
      case 'f': out.kind = Json::Kind::False; return word("false");
      case 'n': out.kind = Json::Kind::Null; return word("null");
      default: return number(out);
    }
  }

 private:
  void skip() {
    while (!rest_.empty() &&
           std::string_view(" \t\r\n").find(rest_.front()) != std::string_view::npos)
      rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return ends();
  }
  // Nothing of a word follows.
  bool ends() const {
    return rest_.empty() ||
           std::string_view(" \t\r\n,]}:").find(rest_.front()) != std::string_view::npos;
  }

  bool array(Json& out, int depth) {
    out.kind = Json::Kind::Array;
    rest_.remove_prefix(1);
    if (take(']')) return true;
    do {
      if (!value(out.items.emplace_back(), depth + 1)) return false;
    } while (take(','));
    return take(']');
  }

  bool object(Json& out, int depth) {
    out.kind = Json::Kind::Object;
    rest_.remove_prefix(1);
    if (take('}')) return true;
    do {
      skip();
      if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\'')) return false;
      if (!text(out.keys.emplace_back()) || !take(':')) return false;
      if (!value(out.items.emplace_back(), depth + 1)) return false;
    } while (take(','));
    return take('}');
  }

  bool hex(char32_t& out) {
    if (rest_.size() < 4) return false;
    out = 0;
    for (int i = 0; i < 4; ++i, rest_.remove_prefix(1)) {
      const char c = rest_.front();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      out = out << 4 | static_cast<char32_t>(digit);
    }
    return true;
  }

  bool escape(std::string& out) {
    if (rest_.empty()) return false;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    switch (c) {
      case 'b': out += '\b'; return true;
      case 'f': out += '\f'; return true;
      case 'n': out += '\n'; return true;
      case 'r': out += '\r'; return true;
      case 't': out += '\t'; return true;
      case '"':
      case '\'':
      case '\\':
      case '/': out += c; return true;
      case 'u': break;
      default: return false;
    }
    char32_t code = 0, low = 0;
    if (!hex(code)) return false;
    if (code >= 0xD800 && code < 0xDC00 && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      if (!hex(low)) return false;
      const bool pair = low >= 0xDC00 && low < 0xE000;
      code = pair ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : U'?';
    } else if (code >= 0xD800 && code < 0xE000) {
      code = U'?';
    }
    append_utf8(code, out);
    return true;
  }

  bool text(std::string& out) {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == quote) return true;
      if (c != '\\') out += c;
      else if (!escape(out)) return false;
    }
    return false;
  }

  size_t digits(size_t at) const {
    while (at < rest_.size() && rest_[at] >= '0' && rest_[at] <= '9') ++at;
    return at;
  }

  bool number(Json& out) {
    const size_t front = rest_.front() == '-' ? 1 : 0;
    size_t at = digits(front);
    if (at == front || (rest_[front] == '0' && at > front + 1)) return false;
    out.kind = Json::Kind::Integer;
    if (at < rest_.size() && rest_[at] == '.') {
      const size_t after = digits(at + 1);
      if (after == at + 1) return false;
      at = after;
      out.kind = Json::Kind::Real;
    }
    if (at < rest_.size() && (rest_[at] == 'e' || rest_[at] == 'E')) {
      const bool has_sign = at + 1 < rest_.size() && (rest_[at + 1] == '-' || rest_[at + 1] == '+');
      const size_t from = at + (has_sign ? 2 : 1), after = digits(from);
      if (after == from) return false;
      at = after;
      out.kind = Json::Kind::Real;
    }
    out.text = rest_.substr(0, at);
    rest_.remove_prefix(at);
    return ends();
  }

  std::string_view rest_;
};

}  // namespace

std::optional<Json> read_json(std::string_view text) {
  Json made;
  if (!Reader(text).value(made)) return std::nullopt;
  return made;
}

void write_json_text(std::string_view text, std::string& out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<uint8_t>(c) >= 0x20) {
          out += c;
        } else {
          out += "\\u00";
          out += kDigits[static_cast<uint8_t>(c) >> 4];
          out += kDigits[static_cast<uint8_t>(c) & 15];
        }
    }
  }
  out += '"';
}

void write_json(const Json& value, std::string& out) {
  switch (value.kind) {
    case Json::Kind::Null: out += "null"; return;
    case Json::Kind::False: out += "false"; return;
    case Json::Kind::True: out += "true"; return;
    case Json::Kind::Integer: out += value.text; return;
    case Json::Kind::Real: append_java_double(real_of_text(value.text).value_or(0), out); return;
    case Json::Kind::Text: write_json_text(value.text, out); return;
    default: break;
  }
  const bool object = value.kind == Json::Kind::Object;
  out += object ? '{' : '[';
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out += ',';
    if (object) {
      write_json_text(value.keys[i], out);
      out += ':';
    }
    write_json(value.items[i], out);
  }
  out += object ? '}' : ']';
}

}  // namespace serval::tabular::sql
