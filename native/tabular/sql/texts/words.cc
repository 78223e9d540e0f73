// Texts as words, numbers and masks. Hot path; any thread.
// Source: Spark's stringExpressions.scala, maskExpressions.scala and UTF8String.
#include <algorithm>

#include "base/unicode/letters.h"
#include "tabular/java/regex/unicode.h"
#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

constexpr size_t kWordTextBytesMax = 64 << 20;

bool word_argument(Eval& eval, std::string_view function, Arguments arguments, size_t index,
                   std::string_view& text) {
  const Value value = argument(eval, function, arguments, index, kString);
  if (value.valid()) text = eval.text(value);
  return value.valid() && !eval.failed();
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), begins_character);
}

// Characters from `from` on, `count` at most.
std::string_view characters(std::string_view text, int64_t from, int64_t count) {
  size_t at = 0;
  for (; at < text.size() && from > 0; --from) at += front_character(text.substr(at)).bytes;
  size_t end = at;
  for (; end < text.size() && count > 0; --count) end += front_character(text.substr(end)).bytes;
  return text.substr(at, end - at);
}

Value space(Eval& eval, Arguments arguments, const void*) {
  const Value count = argument(eval, "space", arguments, 0, kInt32);
  if (!count.valid()) return missing_of(kString);
  const auto many = static_cast<size_t>(std::max<int64_t>(count.integer, 0));
  if (many > kWordTextBytesMax) {
    return eval.fail("space(): argument 1: a text would have more than " +
                     std::to_string(kWordTextBytesMax) + " bytes");
  }
  return text_value(eval, std::string(many, ' '));
}

// elt(n, a, b, ...): returns the n-th of the values.
Value elt(Eval& eval, Arguments arguments, const void*) {
  const Value index = argument(eval, "elt", arguments, 0, kInt32);
  const bool binary = std::all_of(arguments.begin() + 1, arguments.end(),
                                  [](const Value& value) { return value.type == Type::Binary; });
  const SqlType type = binary ? SqlType{Type::Binary} : kString;
  if (!index.valid()) return missing_of(type);
  if (index.integer < 1 || index.integer >= static_cast<int64_t>(arguments.size())) {
    return unanswered(eval, type, "INVALID_ARRAY_INDEX",
                      "elt(): there is no text " + std::to_string(index.integer));
  }
  return argument(eval, "elt", arguments, static_cast<size_t>(index.integer), type);
}

Value find_in_set(Eval& eval, Arguments arguments, const void*) {
  std::string_view word, list;
  const bool valid = word_argument(eval, "find_in_set", arguments, 0, word);
  if (!word_argument(eval, "find_in_set", arguments, 1, list) || !valid) return missing_of(kInt32);
  if (word.find(',') != std::string_view::npos) return Value::of_integer(0, Type::Int32);
  int64_t number = 1;
  for (size_t at = 0;; ++number) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (list.substr(at, end - at) == word) return Value::of_integer(number, Type::Int32);
    if (end == list.size()) return Value::of_integer(0, Type::Int32);
    at = end + 1;
  }
}

// overlay(text, by, position[, length]): the length defaults to that of `by`.
Value overlay(Eval& eval, Arguments arguments, const void*) {
  std::string_view text, by;
  bool valid = word_argument(eval, "overlay", arguments, 0, text);
  valid = word_argument(eval, "overlay", arguments, 1, by) && valid;
  const Value at = argument(eval, "overlay", arguments, 2, kInt32);
  int64_t length = -1;
  if (arguments.size() > 3) {
    const Value given = argument(eval, "overlay", arguments, 3, kInt32);
    valid = valid && given.valid();
    length = given.integer;
  }
  if (!valid || !at.valid()) return missing_of(kString);
  if (length < 0) length = count_characters(by);
  std::string made(characters(text, 0, std::max<int64_t>(at.integer - 1, 0)));
  made += by;
  const int64_t after = at.integer + length, count = count_characters(text);
  const int64_t from = after > 0 ? after - 1 : after < 0 ? count + after : 0;
  made += characters(text, std::max<int64_t>(from, 0), count);
  return text_value(eval, made);
}

constexpr std::string_view kSoundexCodes = "01230127022455012623017202";

Value soundex(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  if (!word_argument(eval, "soundex", arguments, 0, text)) return missing_of(kString);
  const auto letter = [](char c) {
    const char up = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    return up >= 'A' && up <= 'Z' ? up : '\0';
  };
  if (text.empty() || letter(text[0]) == '\0') return text_value(eval, text);
  std::string made(1, letter(text[0]));
  char last = kSoundexCodes[static_cast<size_t>(made[0] - 'A')];
  for (const char c : text.substr(1)) {
    const char up = letter(c);
    if (up == '\0') {
      last = '0';
      continue;
    }
    const char code = kSoundexCodes[static_cast<size_t>(up - 'A')];
    if (code == '7') continue;
    if (code != '0' && code != last) made += code;
    if (made.size() == 4) break;
    last = code;
  }
  made.resize(4, '0');
  return text_value(eval, made);
}

Value luhn_check(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  if (!word_argument(eval, "luhn_check", arguments, 0, text)) return missing_of(kBool);
  if (text.empty()) return Value::of_bool(false);
  int sum = 0;
  bool doubled = false;
  for (size_t at = text.size(); at-- > 0; doubled = !doubled) {
    if (text[at] < '0' || text[at] > '9') return Value::of_bool(false);
    const int digit = (text[at] - '0') * (doubled ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return Value::of_bool(sum % 10 == 0);
}

// Classifies by Character.getType(): upper-case letters, lower-case letters, decimal digits,
// others.
size_t mask_kind(int category) {
  constexpr int kCapital = 1, kSmall = 2, kDigit = 9;
  return category == kCapital ? 0 : category == kSmall ? 1 : category == kDigit ? 2 : 3;
}

// mask(text[, upper[, lower[, digit[, other]]]]): a missing one leaves its characters as they are.
Value mask(Eval& eval, Arguments arguments, const void*) {
  std::string masks[4] = {"X", "x", "n", ""};
  for (size_t i = 1; i < arguments.size(); ++i) {
    const Value given = argument(eval, "mask", arguments, i, kString);
    if (eval.failed()) return missing_of(kString);
    masks[i - 1] = given.valid() ? std::string(eval.text(given)) : "";
    if (given.valid() && count_characters(masks[i - 1]) != 1) {
      return eval.fail("mask(): argument " + std::to_string(i + 1) +
                       ": expected one character, got '" + masks[i - 1] + "'");
    }
  }
  std::string_view text;
  if (!word_argument(eval, "mask", arguments, 0, text)) return missing_of(kString);
  std::string made;
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = front_character(rest);
    const bool wide = character.value > 0xFFFF;
    const char32_t c = character.value;
    const size_t kind = wide ? 3 : mask_kind(regex::category(static_cast<uint32_t>(c)));
    if (masks[kind].empty()) made += rest.substr(0, character.bytes);
    else made += wide ? masks[kind] + masks[kind] : masks[kind];
    rest.remove_prefix(character.bytes);
  }
  return text_value(eval, made);
}

// 'Don\'t' of Don't.
Value quote(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  if (!word_argument(eval, "quote", arguments, 0, text)) return missing_of(kString);
  std::string made = "'";
  for (const char c : text) {
    if (c == '\'') made += '\\';
    made += c;
  }
  return text_value(eval, made + "'");
}

Value type_of_value(Eval& eval, Arguments arguments, const void*) {
  return text_value(eval, type_text(full_type(arguments[0])));
}

Value assert_true(Eval& eval, Arguments arguments, const void*) {
  const Value held = argument(eval, "assert_true", arguments, 0, kBool);
  if (eval.failed() || (held.valid() && held.integer != 0)) return {};
  if (arguments.size() < 2) return eval.fail("assert_true(): argument 1 is not true");
  const Value message = argument(eval, "assert_true", arguments, 1, kString);
  return eval.fail("assert_true(): " +
                   (message.valid() ? std::string(eval.text(message)) : "null"));
}

Value raise_error(Eval& eval, Arguments arguments, const void*) {
  const Value message = argument(eval, "raise_error", arguments, 0, kString);
  return eval.fail("raise_error(): " +
                   (message.valid() ? std::string(eval.text(message)) : "null"));
}

constexpr Function kWordsFunctions[] = {
    function(fn::sql_space, space),
    function(fn::sql_elt, elt),
    function(fn::sql_find_in_set, find_in_set),
    function(fn::sql_overlay, overlay),
    function(fn::sql_soundex, soundex),
    function(fn::sql_luhn_check, luhn_check),
    function(fn::sql_mask, mask),
    function(fn::sql_quote, quote),
    function(fn::sql_typeof, type_of_value),
    function(fn::sql_assert_true, assert_true),
    function(fn::sql_raise_error, raise_error),
};

}  // namespace

std::span<const Function> word_functions() { return kWordsFunctions; }

}  // namespace serval::tabular::sql
