// Formats parts of a request for error texts. Only for errors; any thread. Recursion ends when the
// text is full: every level writes at least one byte, so the depth is at most kErrorValueBytesMax.
#include "codec/json/echo.h"

#include "base/bytes/utf8.h"
#include "base/limits.h"

namespace serval {

namespace {

// Length of the UTF-8 sequence at the front of `text`; 0 if it is invalid.
size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length > text.size() || !is_valid_utf8(text.substr(0, length))) return 0;
  return length;
}

class PrettyEcho {
 public:
  PrettyEcho(const JsonDocument& document, std::string_view body)
      : document_(document), body_(body) {}

  void write(const JsonNode& value, size_t depth) {
    const bool object = value.kind == JsonKind::Object;
    if (!object && value.kind != JsonKind::Array) {
      add(body_.substr(value.begin, value.end - value.begin));
      return;
    }
    add(object ? "{" : "[");
    const JsonNode* item = document_.child(value);
    for (; item != nullptr && !full(); item = document_.sibling(*item)) {
      new_line(depth + 1);
      if (object) {
        add("\"");
        add(item->key);
        add("\": ");
      }
      if (!full()) write(*item, depth + 1);
      if (item->next != 0) add(",");
    }
    if (value.first_child != 0) new_line(depth);
    add(object ? "}" : "]");
  }
  const std::string& text() const { return text_; }

 private:
  // Keeps one byte over the limit, so that echo_text() sees that something was cut.
  bool full() const { return text_.size() > kErrorValueBytesMax; }
  void add(std::string_view piece) {
    if (!full()) text_ += piece.substr(0, kErrorValueBytesMax + 1 - text_.size());
  }
  void new_line(size_t depth) {
    add("\n");
    for (size_t i = 0; i < depth && !full(); ++i) add("    ");
  }

  const JsonDocument& document_;
  std::string_view body_;
  std::string text_;
};

}  // namespace

std::string echo_text(std::string_view text) {
  std::string echo;
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    const std::string_view piece = length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    if (echo.size() + piece.size() > kErrorValueBytesMax) return echo + "...";
    echo += piece;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return echo;
}

std::string echo_json(const JsonDocument& document, const JsonNode& value, std::string_view body) {
  PrettyEcho echo(document, body);
  echo.write(value, 0);
  return echo_text(echo.text());
}

}  // namespace serval
