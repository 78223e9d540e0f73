// Functions of JSON texts and of URLs. Hot path; any thread.
// Source: Spark's jsonExpressions.scala (evaluatePath), JacksonGenerator and urlExpressions.scala.
#include <algorithm>

#include "tabular/java/number_text.h"
#include "tabular/sql/calendar.h"
#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"
#include "tabular/sql/json/document.h"
#include "tabular/sql/texts/encodings.h"

namespace serval::tabular::sql {

namespace {

constexpr size_t kTextBytesMax = 64 << 20;

bool text_argument(Eval& eval, std::string_view function, Arguments arguments, size_t index,
                   std::string_view& text) {
  const Value value = argument(eval, function, arguments, index, kString);
  if (value.valid()) text = eval.text(value);
  return value.valid() && !eval.failed();
}

// A step of a path: .name, [3] or [*]. Spark reads .* too, which finds nothing.
struct Step {
  enum class Kind : uint8_t { Name, Index, AnyField, AnyItem };
  Kind kind = Kind::Name;
  std::string name;
  size_t index = 0;
};
using Path = std::span<const Step>;

// Returns none if the text is not a path.
std::optional<std::vector<Step>> path_of(std::string_view text) {
  std::vector<Step> steps;
  if (!text.starts_with("$")) return std::nullopt;
  text.remove_prefix(1);
  while (!text.empty()) {
    Step& step = steps.emplace_back();
    size_t end = 0;
    if (text.starts_with("['")) {
      end = text.find("']", 2);
      if (end == std::string_view::npos || end == 2) return std::nullopt;
      step.name = text.substr(2, end - 2);
      if (step.name.find('\'') != std::string::npos || step.name.find('?') != std::string::npos) {
        return std::nullopt;
      }
      if (step.name == "*") step.kind = Step::Kind::AnyField;
      text.remove_prefix(end + 2);
    } else if (text.starts_with("[")) {
      end = text.find(']');
      if (end == std::string_view::npos || end == 1) return std::nullopt;
      const std::string_view inside = text.substr(1, end - 1);
      step.kind = inside == "*" ? Step::Kind::AnyItem : Step::Kind::Index;
      if (inside != "*") {
        if (inside.size() > 9 || inside.find_first_not_of("0123456789") != std::string_view::npos) {
          return std::nullopt;
        }
        step.index = static_cast<size_t>(std::stoul(std::string(inside)));
      }
      text.remove_prefix(end + 1);
    } else if (text.starts_with(".")) {
      end = std::min(text.find_first_of(".[", 1), text.size());
      step.name = text.substr(1, end - 1);
      if (step.name.empty()) return std::nullopt;
      if (step.name == "*") step.kind = Step::Kind::AnyField;
      text.remove_prefix(end);
    } else {
      return std::nullopt;
    }
  }
  return steps;
}

enum class Style : uint8_t { Raw, Quoted, Flat };

// The values that a path finds, one after the other: the items of an array written around them.
struct Found {
  std::vector<std::string> parts;
  void add(std::string part) { parts.push_back(std::move(part)); }
};

bool evaluate(const Json& value, Style style, Path path, Found& found);

bool evaluate_items(const Json& value, Style style, Path path, Found& found) {
  bool any = false;
  for (const Json& item : value.items) any = evaluate(item, style, path, found) || any;
  return any;
}

std::string joined(const Found& found) {
  std::string text = "[";
  for (size_t i = 0; i < found.parts.size(); ++i) text += (i > 0 ? "," : "") + found.parts[i];
  return text + "]";
}

// [*] of an array, or two of them, which are one array.
bool evaluate_any(const Json& value, Style style, Path path, Found& found) {
  const bool twice = path.size() > 1 && path[1].kind == Step::Kind::AnyItem;
  Found inner;
  if (twice) {
    const bool any = evaluate_items(value, Style::Flat, path.subspan(2), inner);
    found.add(joined(inner));
    return any;
  }
  const Path rest = path.subspan(1);
  if (style == Style::Quoted) {
    const bool any = evaluate_items(value, style, rest, inner);
    found.add(joined(inner));
    return any;
  }
  // A single result is returned as it is.
  evaluate_items(value, style == Style::Raw ? Style::Quoted : Style::Flat, rest, inner);
  if (inner.parts.size() == 1) found.add(inner.parts[0]);
  else if (inner.parts.size() > 1) found.add(joined(inner));
  return !inner.parts.empty();
}

bool evaluate_object(const Json& value, Style style, Path path, Found& found) {
  const Step& step = path.front();
  if (step.kind != Step::Kind::Name) return false;
  for (size_t i = 0; i < value.keys.size(); ++i) {
    if (value.keys[i] != step.name || value.items[i].kind == Json::Kind::Null) continue;
    if (evaluate(value.items[i], style, path.subspan(1), found)) return true;
  }
  return false;
}

bool evaluate(const Json& value, Style style, Path path, Found& found) {
  if (path.empty()) {
    if (value.kind == Json::Kind::Array && style == Style::Flat) {
      return evaluate_items(value, style, path, found);
    }
    std::string text;
    if (value.kind == Json::Kind::Text && style == Style::Raw) text = value.text;
    else write_json(value, text);
    found.add(std::move(text));
    return true;
  }
  if (value.kind == Json::Kind::Object) return evaluate_object(value, style, path, found);
  if (value.kind != Json::Kind::Array) return false;
  const Step& step = path.front();
  if (step.kind == Step::Kind::AnyItem) return evaluate_any(value, style, path, found);
  if (step.kind != Step::Kind::Index || step.index >= value.items.size()) return false;
  const bool quotes = path.size() > 1 && path[1].kind == Step::Kind::AnyItem;
  return evaluate(value.items[step.index], quotes ? Style::Quoted : style, path.subspan(1), found);
}

Value get_json_object(Eval& eval, Arguments arguments, const void*) {
  std::string_view text, path;
  const bool valid = text_argument(eval, "get_json_object", arguments, 0, text);
  if (!text_argument(eval, "get_json_object", arguments, 1, path) || !valid) {
    return missing_of(kString);
  }
  const auto steps = path_of(path);
  const auto document = read_json(text);
  Found found;
  if (!steps || !document || !evaluate(*document, Style::Raw, *steps, found)) {
    return missing_of(kString);
  }
  std::string all;
  for (const std::string& part : found.parts) all += part;
  return text_value(eval, all);
}

Value json_array_length(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  if (!text_argument(eval, "json_array_length", arguments, 0, text)) return missing_of(kInt32);
  const auto document = read_json(text);
  if (!document || document->kind != Json::Kind::Array) return missing_of(kInt32);
  return Value::of_integer(static_cast<int64_t>(document->items.size()), Type::Int32);
}

Value json_object_keys(Eval& eval, Arguments arguments, const void*) {
  const SqlType type = array_of(kString);
  std::string_view text;
  if (!text_argument(eval, "json_object_keys", arguments, 0, text)) return missing_of(type);
  const auto document = read_json(text);
  if (!document || document->kind != Json::Kind::Object) return missing_of(type);
  std::vector<Value> items;
  for (const std::string& key : document->keys) items.push_back(eval.of_text(key));
  return of_items(eval, type, std::move(items));
}

void append_value(Eval& eval, const Value& value, std::string& out);

// Fields that are NULL are left out.
void append_fields(Eval& eval, const Value& value, bool map, std::string& out) {
  const auto items = items_of(eval, value);
  const Composite& of = composite_of(full_type(value));
  out += '{';
  bool first = true;
  const size_t step = map ? 2 : 1;
  for (size_t i = 0; i + step <= items.size(); i += step) {
    const Value& item = items[i + step - 1];
    if (!map && !item.valid()) continue;
    if (!first) out += ',';
    first = false;
    write_json_text(map ? text_of(eval, items[i]) : of.names[i], out);
    out += ':';
    append_value(eval, item, out);
  }
  out += '}';
}

void append_list(Eval& eval, const Value& value, std::string& out) {
  switch (composite_of(full_type(value)).form) {
    case Form::Map: return append_fields(eval, value, true, out);
    case Form::Struct: return append_fields(eval, value, false, out);
    case Form::Array: break;
    default: return write_json_text(items_text(eval, value), out);
  }
  out += '[';
  bool first = true;
  for (const Value& item : items_of(eval, value)) {
    if (!first) out += ',';
    first = false;
    append_value(eval, item, out);
  }
  out += ']';
}

// "2020-05-06T13:14:15.250Z": always with three decimal places.
std::string iso_text(const Eval& eval, int64_t instant) {
  const int64_t wall = wall_of(eval, instant);
  std::string text = timestamp_text(floor_divide(wall, kSecondMicros) * kSecondMicros);
  text[text.find(' ')] = 'T';
  std::string millis = std::to_string(floor_modulo(wall, kSecondMicros) / 1000);
  millis.insert(0, 3 - millis.size(), '0');
  const int64_t minutes = (wall - instant) / (60 * kSecondMicros);
  text += "." + millis;
  if (minutes == 0) return text + "Z";
  const int64_t size = minutes < 0 ? -minutes : minutes;
  const auto two = [](int64_t value) { return (value < 10 ? "0" : "") + std::to_string(value); };
  return text + (minutes < 0 ? "-" : "+") + two(size / 60) + ":" + two(size % 60);
}

void append_value(Eval& eval, const Value& value, std::string& out) {
  if (!value.valid()) {
    out += "null";
    return;
  }
  if (out.size() > kTextBytesMax) {
    eval.fail("to_json(): a text would have more than " + std::to_string(kTextBytesMax) + " bytes");
  }
  if (eval.failed()) return;
  switch (value.type) {
    case Type::List: return append_list(eval, value, out);
    case Type::String: return write_json_text(eval.text(value), out);
    case Type::Binary: return write_json_text(base64_text(eval.text(value)), out);
    case Type::Date: return write_json_text(text_of(eval, value), out);
    case Type::Timestamp: return write_json_text(iso_text(eval, value.integer), out);
    default: break;
  }
  const bool quoted = is_real(value.type) && !std::isfinite(value.real);
  if (quoted) write_json_text(text_of(eval, value), out);
  else out += text_of(eval, value);
}

Value to_json(Eval& eval, Arguments arguments, const void*) {
  const Value& value = arguments[0];
  if (value.type != Type::List) {
    return bad_argument(eval, "to_json", 0, "a structure, a map or an array", value);
  }
  if (!value.valid()) return missing_of(kString);
  std::string text;
  append_list(eval, value, text);
  return text_value(eval, text);
}

// The parts of a URI, as java.net.URI finds them.
struct Url {
  std::optional<std::string_view> scheme, authority, user, host, query, fragment;
  std::string_view path;
  bool opaque = false;
};

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool all_in(std::string_view text, std::string_view others) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<uint8_t>(c) >= 0x80 || is_alphanumeric(c)) continue;
    if (c == '%') {
      const auto hex = [&](size_t at) {
        return at < text.size() &&
               std::string_view("0123456789abcdefABCDEF").find(text[at]) != std::string_view::npos;
      };
      if (!hex(i + 1) || !hex(i + 2)) return false;
    } else if (others.find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

// A name of a host: labels of letters, digits and -, the last one begins with a letter; or numbers.
bool is_host(std::string_view host) {
  if (host.starts_with("[") && host.ends_with("]")) return true;
  std::string_view last;
  bool numbers = true;
  for (size_t at = 0; at < host.size();) {
    const size_t end = std::min(host.find('.', at), host.size());
    const std::string_view label = host.substr(at, end - at);
    const bool fine = !label.empty() && label.front() != '-' && label.back() != '-' &&
                      std::all_of(label.begin(), label.end(),
                                  [](char c) { return is_alphanumeric(c) || c == '-'; });
    if (!fine) return false;
    numbers = numbers && label.find_first_not_of("0123456789") == std::string_view::npos;
    last = label;
    at = end + 1;
  }
  const bool letter = !last.empty() && !(last.front() >= '0' && last.front() <= '9');
  return letter || (numbers && std::count(host.begin(), host.end(), '.') == 3);
}

void split_authority(Url& url) {
  std::string_view rest = *url.authority;
  std::optional<std::string_view> user;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    user = rest.substr(0, at);
    rest.remove_prefix(at + 1);
  }
  const size_t bracket = rest.find(']');
  const size_t colon = rest.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = rest.substr(0, colon);
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  // An authority that names no server has neither.
  if (!is_host(host) || port.find_first_not_of("0123456789") != std::string_view::npos) return;
  url.user = user;
  url.host = host;
}

std::optional<Url> url_of(std::string_view text) {
  constexpr std::string_view kCharacters = "_-!.~'()*,;:$&+=?/[]@";
  Url url;
  std::string_view rest = text;
  if (const size_t at = rest.find('#'); at != std::string_view::npos) {
    url.fragment = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!all_in(*url.fragment, kCharacters)) return std::nullopt;
  }
  if (!all_in(rest, kCharacters)) return std::nullopt;
  const size_t colon = rest.find_first_of(":/?");
  if (colon != std::string_view::npos && rest[colon] == ':') {
    url.scheme = rest.substr(0, colon);
    const char first = url.scheme->empty() ? '0' : url.scheme->front();
    if (!is_alphanumeric(first) || (first >= '0' && first <= '9')) return std::nullopt;
    rest.remove_prefix(colon + 1);
    if (rest.empty()) return std::nullopt;
    url.opaque = rest.front() != '/';
  }
  if (url.opaque) return url;
  if (const size_t at = rest.find('?'); at != std::string_view::npos) {
    url.query = rest.substr(at + 1);
    rest = rest.substr(0, at);
  }
  if (rest.starts_with("//")) {
    const size_t end = std::min(rest.find('/', 2), rest.size());
    if (end == 2) return rest.size() > 2 ? std::optional(url) : std::nullopt;
    url.authority = rest.substr(2, end - 2);
    rest.remove_prefix(end);
    split_authority(url);
  }
  url.path = rest;
  if (url.path.find_first_of("[]") != std::string_view::npos) return std::nullopt;
  return url;
}

std::optional<std::string> part_of_url(const Url& url, std::string_view part) {
  const auto text = [](const std::optional<std::string_view>& of) -> std::optional<std::string> {
    if (!of) return std::nullopt;
    return std::string(*of);
  };
  if (part == "HOST") return text(url.host);
  if (part == "PATH") return url.opaque ? std::nullopt : text(url.path);
  if (part == "QUERY") return text(url.query);
  if (part == "REF") return text(url.fragment);
  if (part == "PROTOCOL") return text(url.scheme);
  if (part == "AUTHORITY") return text(url.authority);
  if (part == "USERINFO") return text(url.user);
  if (part != "FILE" || url.opaque) return std::nullopt;
  return std::string(url.path) + (url.query ? "?" + std::string(*url.query) : "");
}

// The value of a key in the query.
std::optional<std::string> value_in_query(std::string_view query, std::string_view key) {
  for (size_t at = 0; at <= query.size();) {
    const size_t end = std::min(query.find('&', at), query.size());
    const std::string_view pair = query.substr(at, end - at);
    if (pair.starts_with(key) && pair.size() > key.size() && pair[key.size()] == '=') {
      return std::string(pair.substr(key.size() + 1));
    }
    at = end + 1;
  }
  return std::nullopt;
}

// parse_url(url, part[, key])
Value parse_url(Eval& eval, Arguments arguments, const void*) {
  std::string_view texts[3];
  bool valid = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    valid = text_argument(eval, "parse_url", arguments, i, texts[i]) && valid;
  }
  if (!valid) return missing_of(kString);
  const auto url = url_of(texts[0]);
  if (!url) return unanswered(eval, kString, "INVALID_URL", texts[0]);
  if (arguments.size() > 2 && texts[1] != "QUERY") return missing_of(kString);
  auto made = part_of_url(*url, texts[1]);
  if (made && arguments.size() > 2) made = value_in_query(*made, texts[2]);
  return made ? text_value(eval, *made) : missing_of(kString);
}

constexpr Function kJsonFunctions[] = {
    function(fn::sql_get_json_object, get_json_object),
    function(fn::sql_json_array_length, json_array_length),
    function(fn::sql_json_object_keys, json_object_keys),
    function(fn::sql_to_json, to_json),
    function(fn::sql_parse_url, parse_url),
};

}  // namespace

std::span<const Function> json_functions() { return kJsonFunctions; }

}  // namespace serval::tabular::sql
