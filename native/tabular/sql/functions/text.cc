// Functions of texts, which count in characters. Hot path; any thread.
// Source: tabular.md 10; Spark's UTF8String.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/unicode/letters.h"
#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

// Maximum bytes of a text that a function makes; a larger one is refused.
constexpr size_t kMadeTextBytesMax = 64 << 20;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), begins_character);
}

// Byte offset of character `index`; the length if there are fewer characters.
size_t byte_of(std::string_view text, int64_t index) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && index-- == 0) return at;
  }
  return at;
}

// Characters [from, to).
std::string_view characters(std::string_view text, int64_t from, int64_t to) {
  if (to <= from) return {};
  const size_t begin = byte_of(text, std::max<int64_t>(from, 0));
  const std::string_view rest = text.substr(begin);
  return rest.substr(0, byte_of(rest, to - std::max<int64_t>(from, 0)));
}

using Texts = std::span<const std::string_view>;

// Calls the function with a row's texts if all arguments are texts and none is missing.
template <Value (*kFunction)(Eval&, Texts)>
Value of_texts(Eval& eval, Arguments arguments, const void*) {
  std::string_view texts[4];
  bool valid = true;
  Value made[4];
  for (size_t i = 0; i < arguments.size(); ++i) {
    made[i] = convert(eval, arguments[i], kString);
    valid = valid && made[i].valid();
  }
  // A missing result still has the type that the function returns.
  if (!valid || eval.failed()) {
    const Value typed = kFunction(eval, {});
    return missing_of(type_of(typed));
  }
  for (size_t i = 0; i < arguments.size(); ++i) texts[i] = eval.text(made[i]);
  return kFunction(eval, {texts, arguments.size()});
}

bool is_list_value(const Value& value) { return value.type == Type::List; }

Value concat(Eval& eval, Arguments arguments, const void*) {
  if (std::any_of(arguments.begin(), arguments.end(), is_list_value)) {
    return concat_arrays(eval, arguments);
  }
  std::string text;
  bool valid = true;
  for (const Value& argument : arguments) {
    if (argument.type == Type::Binary) return eval.fail("concat() of binary is not supported");
    const Value part = convert(eval, argument, kString);
    if (eval.failed()) return missing_of(kString);
    valid = valid && part.valid();
    if (valid) text += eval.text(part);
  }
  return valid ? text_value(eval, text) : missing_of(kString);
}

// The separator, then texts; missing ones are left out.
Value concat_ws(Eval& eval, Arguments arguments, const void*) {
  const Value separator = convert(eval, arguments[0], kString);
  if (!separator.valid()) return missing_of(kString);
  std::string text;
  bool first = true;
  const auto add = [&](const Value& part) {
    if (!part.valid()) return;
    if (!first) text += eval.text(separator);
    text += eval.text(part);
    first = false;
    if (text.size() > kMadeTextBytesMax) eval.fail("the result of concat_ws() is too long");
  };
  for (const Value& argument : arguments.subspan(1)) {
    if (!is_list_value(argument)) {
      add(convert(eval, argument, kString));
    } else if (const Value list = convert(eval, argument, array_of(kString)); list.valid()) {
      for (const Value& part : items_of(eval, list)) {
        add(part);
        if (eval.failed()) break;
      }
    }
    if (eval.failed()) return missing_of(kString);
  }
  return text_value(eval, text);
}

Value upper(Eval& eval, Texts texts) {
  if (texts.empty()) return missing_of(kString);
  std::string made;
  append_upper_case(texts[0], made);
  return text_value(eval, made);
}

Value lower(Eval& eval, Texts texts) {
  if (texts.empty()) return missing_of(kString);
  std::string made;
  append_lower_case(texts[0], made);
  return text_value(eval, made);
}

// Words are what blanks part.
Value initcap(Eval& eval, Texts texts) {
  if (texts.empty()) return missing_of(kString);
  std::string low, made;
  append_lower_case(texts[0], low);
  bool first = true;
  for (std::string_view rest = low; !rest.empty();) {
    const Character character = front_character(rest);
    if (first) {
      append_upper_case(rest.substr(0, character.bytes), made);
    } else {
      made += rest.substr(0, character.bytes);
    }
    first = character.value == ' ';
    rest.remove_prefix(character.bytes);
  }
  return text_value(eval, made);
}

// Whether `set` (a blank by default) contains the character.
bool is_in(std::string_view set, std::string_view character) {
  for (std::string_view rest = set; !rest.empty();) {
    const size_t bytes = front_character(rest).bytes;
    if (rest.substr(0, bytes) == character) return true;
    rest.remove_prefix(bytes);
  }
  return false;
}

template <bool kLeft, bool kRight>
Value trim(Eval& eval, Texts texts) {
  if (texts.empty()) return missing_of(kString);
  std::string_view text = texts[0];
  const std::string_view set = texts.size() > 1 ? texts[1] : std::string_view(" ");
  while (kLeft && !text.empty()) {
    const size_t bytes = front_character(text).bytes;
    if (!is_in(set, text.substr(0, bytes))) break;
    text.remove_prefix(bytes);
  }
  while (kRight && !text.empty()) {
    size_t at = text.size() - 1;
    while (at > 0 && !begins_character(text[at])) --at;
    if (!is_in(set, text.substr(at))) break;
    text.remove_suffix(text.size() - at);
  }
  return text_value(eval, text);
}

// A text, and numbers.
bool text_and_numbers(Eval& eval, Arguments arguments, std::string_view& text,
                      int64_t (&numbers)[2]) {
  Value made = convert(eval, arguments[0], kString);
  bool valid = made.valid();
  if (valid) text = eval.text(made);
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (!valid && eval.ansi) break;
    made = convert(eval, arguments[i], kInt32);
    valid = valid && made.valid();
    numbers[i - 1] = made.integer;
  }
  return valid && !eval.failed();
}

// From 1, from the end below 0; 0 is as 1.
Value substring(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  int64_t numbers[2] = {0, std::numeric_limits<int32_t>::max()};
  if (!text_and_numbers(eval, arguments, text, numbers)) return missing_of(kString);
  int64_t from = numbers[0] > 0 ? numbers[0] - 1 : 0;
  if (numbers[0] < 0) from = count_characters(text) + numbers[0];
  return text_value(eval, characters(text, from, from + numbers[1]));
}

Value left(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  int64_t numbers[2] = {0, 0};
  if (!text_and_numbers(eval, arguments, text, numbers)) return missing_of(kString);
  return text_value(eval, characters(text, 0, numbers[0]));
}

Value right(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  int64_t numbers[2] = {0, 0};
  if (!text_and_numbers(eval, arguments, text, numbers)) return missing_of(kString);
  const int64_t count = count_characters(text);
  return text_value(eval, characters(text, count - std::max<int64_t>(numbers[0], 0), count));
}

// Pads to a length in characters by repeating `fill`; longer texts are cut.
template <bool kLeft>
Value pad(Eval& eval, Arguments arguments, const void*) {
  std::string_view text, fill = " ";
  int64_t numbers[2] = {0, 0};
  if (!text_and_numbers(eval, arguments.first(2), text, numbers)) return missing_of(kString);
  Value given;
  if (arguments.size() > 2) {
    given = convert(eval, arguments[2], kString);
    if (!given.valid()) return missing_of(kString);
    fill = eval.text(given);
  }
  const int64_t wanted = numbers[0], count = count_characters(text);
  if (wanted <= count || fill.empty()) return text_value(eval, characters(text, 0, wanted));
  const int64_t fills = count_characters(fill), missing = wanted - count;
  if (static_cast<size_t>(missing / fills + 1) > kMadeTextBytesMax / fill.size()) {
    return eval.fail("a text would have more than " + std::to_string(kMadeTextBytesMax) + " bytes");
  }
  std::string padding;
  for (int64_t i = 0; i < missing / fills; ++i) padding += fill;
  padding += characters(fill, 0, missing % fills);
  return text_value(eval, kLeft ? padding + std::string(text) : std::string(text) + padding);
}

Value repeat(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  int64_t numbers[2] = {0, 0};
  if (!text_and_numbers(eval, arguments, text, numbers)) return missing_of(kString);
  if (numbers[0] <= 0 || text.empty()) return text_value(eval, "");
  if (static_cast<size_t>(numbers[0]) > kMadeTextBytesMax / text.size()) {
    return eval.fail("a text would have more than " + std::to_string(kMadeTextBytesMax) + " bytes");
  }
  std::string made;
  for (int64_t i = 0; i < numbers[0]; ++i) made += text;
  return text_value(eval, made);
}

Value reverse(Eval& eval, Texts texts) {
  if (texts.empty()) return missing_of(kString);
  std::string made;
  size_t end = texts[0].size();
  for (size_t at = end; at-- > 0;) {
    if (!begins_character(texts[0][at])) continue;
    made += texts[0].substr(at, end - at);
    end = at;
  }
  return text_value(eval, made);
}

Value replace(Eval& eval, Texts texts) {
  if (texts.empty()) return missing_of(kString);
  const std::string_view text = texts[0], what = texts[1];
  if (what.empty()) return text_value(eval, text);
  const std::string_view by = texts.size() > 2 ? texts[2] : std::string_view();
  std::string made;
  size_t at = 0;
  for (size_t found = text.find(what); found != std::string_view::npos;
       found = text.find(what, at)) {
    made += text.substr(at, found - at);
    made += by;
    at = found + what.size();
    if (made.size() > kMadeTextBytesMax) return eval.fail("the result of replace() is too long");
  }
  made += text.substr(at);
  return text_value(eval, made);
}

// Replaces characters of texts[1] with those at the same positions of texts[2]; drops those beyond
// its end.
Value translate(Eval& eval, Texts texts) {
  if (texts.empty()) return missing_of(kString);
  std::vector<std::string_view> from, to;
  for (const size_t i : {size_t{1}, size_t{2}}) {
    for (std::string_view rest = texts[i]; !rest.empty();) {
      const size_t bytes = front_character(rest).bytes;
      (i == 1 ? from : to).push_back(rest.substr(0, bytes));
      rest.remove_prefix(bytes);
    }
  }
  std::string made;
  for (std::string_view rest = texts[0]; !rest.empty();) {
    const size_t bytes = front_character(rest).bytes;
    const std::string_view character = rest.substr(0, bytes);
    const auto found = std::find(from.begin(), from.end(), character);
    const auto index = static_cast<size_t>(found - from.begin());
    if (found == from.end()) {
      made += character;
    } else if (index < to.size()) {
      made += to[index];
    }
    rest.remove_prefix(bytes);
  }
  return text_value(eval, made);
}

Value chr(Eval& eval, Arguments arguments, const void*) {
  const Value value = convert(eval, arguments[0], kInt64);
  if (!value.valid()) return missing_of(kString);
  if (value.integer < 0) return text_value(eval, "");
  std::string made;
  append_utf8(static_cast<char32_t>(value.integer & 0xFF), made);
  return text_value(eval, made);
}

Value split_part(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[3] = {kString, kString, kInt32};
  Value made[3];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kString);
  if (made[2].integer == 0) return eval.fail("split_part(): part 0 does not exist");
  const std::string_view text = eval.text(made[0]), by = eval.text(made[1]);
  std::vector<std::string_view> parts;
  size_t at = 0;
  for (size_t found = by.empty() ? std::string_view::npos : text.find(by);
       found != std::string_view::npos; found = text.find(by, at)) {
    parts.push_back(text.substr(at, found - at));
    at = found + by.size();
  }
  parts.push_back(text.substr(at));
  const auto count = static_cast<int64_t>(parts.size());
  const int64_t index = made[2].integer > 0 ? made[2].integer - 1 : count + made[2].integer;
  const bool there = index >= 0 && index < count;
  return text_value(eval, there ? parts[static_cast<size_t>(index)] : std::string_view());
}

// The part before the count-th delimiter; for a negative count, the part after it, counted from the
// end.
Value substring_index(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[3] = {kString, kString, kInt32};
  Value made[3];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kString);
  const std::string_view text = eval.text(made[0]), by = eval.text(made[1]);
  int64_t count = made[2].integer;
  if (by.empty() || count == 0) return text_value(eval, "");
  size_t at = 0;
  if (count > 0) {
    for (size_t from = 0; count > 0; --count, from = at + 1) {
      at = text.find(by, from);
      if (at == std::string_view::npos) return text_value(eval, text);
    }
    return text_value(eval, text.substr(0, at));
  }
  for (size_t from = text.size(); count < 0; ++count) {
    if (from < by.size()) return text_value(eval, text);
    at = text.rfind(by, from - by.size());
    if (at == std::string_view::npos) return text_value(eval, text);
    from = at;
  }
  return text_value(eval, text.substr(at + by.size()));
}

Value length(Eval&, Texts texts) {
  if (texts.empty()) return missing_of(kInt32);
  return Value::of_integer(count_characters(texts[0]), Type::Int32);
}

template <int kScale>
Value bytes(Eval&, Texts texts) {
  if (texts.empty()) return missing_of(kInt32);
  return Value::of_integer(static_cast<int64_t>(texts[0].size()) * kScale, Type::Int32);
}

Value ascii(Eval&, Texts texts) {
  if (texts.empty()) return missing_of(kInt32);
  const int64_t code = texts[0].empty() ? 0 : static_cast<int64_t>(front_character(texts[0]).value);
  return Value::of_integer(code, Type::Int32);
}

// Position from 1; 0: not found.
int64_t position(std::string_view text, std::string_view what, int64_t from) {
  const size_t at = text.find(what, byte_of(text, from));
  return at == std::string_view::npos ? 0 : count_characters(text.substr(0, at)) + 1;
}

Value instr(Eval&, Texts texts) {
  if (texts.empty()) return missing_of(kInt32);
  return Value::of_integer(position(texts[0], texts[1], 0), Type::Int32);
}

// locate(what, text[, from]): a missing `from` is 0, which is nowhere.
Value locate(Eval& eval, Arguments arguments, const void*) {
  const Value what = convert(eval, arguments[0], kString);
  const Value text = convert(eval, arguments[1], kString);
  int64_t from = 1;
  if (arguments.size() > 2) {
    const Value given = convert(eval, arguments[2], kInt32);
    from = given.valid() ? given.integer : 0;
  }
  if (eval.failed()) return missing_of(kInt32);
  if (from == 0) return Value::of_integer(0, Type::Int32);
  if (!what.valid() || !text.valid()) return missing_of(kInt32);
  const std::string_view in = eval.text(text);
  const bool beyond = from < 1 || from - 1 > count_characters(in);
  return Value::of_integer(beyond ? 0 : position(in, eval.text(what), from - 1), Type::Int32);
}

Value levenshtein(Eval& eval, Texts texts) {
  if (texts.empty()) return missing_of(kInt32);
  std::vector<char32_t> sides[2];
  for (const size_t i : {size_t{0}, size_t{1}}) {
    for (std::string_view rest = texts[i]; !rest.empty();) {
      const Character character = front_character(rest);
      sides[i].push_back(character.value);
      rest.remove_prefix(character.bytes);
    }
  }
  constexpr size_t kCellsMax = 16 << 20;
  if (sides[0].size() * sides[1].size() > kCellsMax) {
    return eval.fail("levenshtein() of texts that are too long");
  }
  std::vector<int64_t> costs(sides[1].size() + 1);
  for (size_t j = 0; j < costs.size(); ++j) costs[j] = static_cast<int64_t>(j);
  for (size_t i = 0; i < sides[0].size(); ++i) {
    int64_t diagonal = costs[0];
    costs[0] = static_cast<int64_t>(i) + 1;
    for (size_t j = 0; j < sides[1].size(); ++j) {
      const int64_t replaced = diagonal + (sides[0][i] == sides[1][j] ? 0 : 1);
      diagonal = costs[j + 1];
      costs[j + 1] = std::min({replaced, costs[j] + 1, diagonal + 1});
    }
  }
  return Value::of_integer(costs.back(), Type::Int32);
}

enum class Where { Start, End, Anywhere };

template <Where kWhere>
Value has(Eval&, Texts texts) {
  if (texts.empty()) return missing_of(kBool);
  const std::string_view text = texts[0], what = texts[1];
  switch (kWhere) {
    case Where::Start: return Value::of_bool(text.starts_with(what));
    case Where::End: return Value::of_bool(text.ends_with(what));
    case Where::Anywhere: break;
  }
  return Value::of_bool(text.find(what) != std::string_view::npos);
}

Value reverse_any(Eval& eval, Arguments arguments, const void* state) {
  if (is_list_value(arguments[0])) return reverse_array(eval, arguments[0]);
  return of_texts<reverse>(eval, arguments, state);
}

constexpr Function kTextFunctions[] = {
    reading(Reads::All, function(fn::sql_concat, concat)),
    reading(Reads::All, function(fn::sql_concat_ws, concat_ws)),
    function(fn::sql_upper, of_texts<upper>),
    function(fn::sql_lower, of_texts<lower>),
    function(fn::sql_initcap, of_texts<initcap>),
    function(fn::sql_btrim, of_texts<trim<true, true>>),
    function(fn::sql_ltrim, of_texts<trim<true, false>>),
    function(fn::sql_rtrim, of_texts<trim<false, true>>),
    function(fn::sql_substring, substring),
    function(fn::sql_substring_index, substring_index),
    function(fn::sql_left, left),
    function(fn::sql_right, right),
    function(fn::sql_lpad, pad<true>),
    function(fn::sql_rpad, pad<false>),
    function(fn::sql_repeat, repeat),
    function(fn::sql_reverse, reverse_any),
    function(fn::sql_replace, of_texts<replace>),
    function(fn::sql_translate, of_texts<translate>),
    function(fn::sql_chr, chr),
    function(fn::sql_split_part, split_part),
    function(fn::sql_length, of_texts<length>),
    function(fn::sql_octet_length, of_texts<bytes<1>>),
    function(fn::sql_bit_length, of_texts<bytes<8>>),
    function(fn::sql_ascii, of_texts<ascii>),
    function(fn::sql_instr, of_texts<instr>),
    function(fn::sql_locate, locate),
    function(fn::sql_levenshtein, of_texts<levenshtein>),
    function(fn::sql_startswith, of_texts<has<Where::Start>>),
    function(fn::sql_endswith, of_texts<has<Where::End>>),
    function(fn::sql_contains, of_texts<has<Where::Anywhere>>),
};

}  // namespace

std::span<const Function> text_functions() { return kTextFunctions; }

}  // namespace serval::tabular::sql
