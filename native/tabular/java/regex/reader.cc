// Characters, escapes and classes of Java's regular expressions: see parser.h. Load thread.
#include <algorithm>
#include <unordered_map>

#include "base/bytes/views.h"
#include "base/unicode/letters.h"
#include "tabular/java/regex/parser.h"

namespace serval::tabular::regex {
namespace {

constexpr int kClassesDeepMax = 100;

bool is_octal(uint32_t c) { return c >= '0' && c <= '7'; }
bool is_ascii_letter(uint32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_blank(uint32_t c) { return (c >= 9 && c <= 13) || c == ' '; }
uint32_t ascii_lower(uint32_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
uint32_t ascii_upper(uint32_t c) { return c >= 'a' && c <= 'z' ? c - 32 : c; }
bool is_between(uint32_t first, uint32_t c, uint32_t last) { return c >= first && c <= last; }

int hex_value(uint32_t c) {
  if (is_digit(c)) return static_cast<int>(c - '0');
  const uint32_t low = ascii_lower(c);
  return low >= 'a' && low <= 'f' ? static_cast<int>(low - 'a' + 10) : -1;
}

// All characters that have a case, and those that are one under (?iu), by what they fold to.
struct Cased {
  std::vector<uint32_t> all;
  std::unordered_multimap<uint32_t, uint32_t> by_fold;

  static const Cased& get() {
    static const Cased made;
    return made;
  }

 private:
  Cased() {
    const auto add = [this](const CaseRange* ranges, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        for (uint32_t c = ranges[i].first; c <= ranges[i].last; c += ranges[i].stride) {
          all.push_back(c);
        }
      }
    };
    add(kUpper, kUpperCount);
    add(kLower, kLowerCount);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const uint32_t c : all) by_fold.emplace(folded(c), c);
  }
};

const Set& space_set() {
  static const Set made = Set::of({{9, 13}, {' ', ' '}});
  return made;
}
const Set& horizontal_set() {
  static const Set made = Set::of({{9, 9},
                                   {' ', ' '},
                                   {0xA0, 0xA0},
                                   {0x1680, 0x1680},
                                   {0x180E, 0x180E},
                                   {0x2000, 0x200A},
                                   {0x202F, 0x202F},
                                   {0x205F, 0x205F},
                                   {0x3000, 0x3000}});
  return made;
}
const Set& vertical_set() {
  static const Set made = Set::of({{10, 13}, {0x85, 0x85}, {0x2028, 0x2029}});
  return made;
}
const Set& word_set() {
  static const Set made = Set::of({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return made;
}

std::string upper_text(std::string_view text) {
  std::string made(text);
  for (char& c : made) c = static_cast<char>(ascii_upper(static_cast<unsigned char>(c)));
  return made;
}

}  // namespace

std::string utf8_of(uint32_t c) {
  std::string made;
  append_utf8(c, made);
  return made;
}

Reader::Reader(std::string_view text) { unquote(text); }

// \Q...\E first, everywhere: its characters become escapes.
void Reader::unquote(std::string_view text) {
  std::vector<uint32_t> all;
  while (!text.empty()) {
    const Character character = front_character(text);
    all.push_back(character.value);
    text.remove_prefix(character.bytes);
  }
  const auto sees = [&](size_t at, char letter) {
    return at + 1 < all.size() && all[at] == '\\' && all[at + 1] == static_cast<uint32_t>(letter);
  };
  for (size_t i = 0; i < all.size();) {
    if (!sees(i, 'Q')) {
      // Copies an escape unchanged, so that \\Q does not start a quote.
      if (all[i] == '\\' && i + 1 < all.size()) text_.push_back(all[i++]);
      text_.push_back(all[i++]);
      continue;
    }
    for (i += 2; i < all.size() && !sees(i, 'E'); ++i) {
      // Not \1, a reference: in hexadecimal.
      if (is_digit(all[i])) text_.insert(text_.end(), {'\\', 'x', '3', all[i]});
      else if (is_ascii_letter(all[i])) text_.push_back(all[i]);
      else text_.insert(text_.end(), {'\\', all[i]});
    }
    i = std::min(i + 2, all.size());
  }
}

void Reader::fail(std::string what) {
  if (failed()) return;
  fault_ = std::move(what);
  fault_at_ = std::min(at_, text_.size());
  at_ = text_.size();
}

uint32_t Reader::peek() {
  const auto ends_line = [this](uint32_t c) {
    return c == '\n' ||
           (!flags_.unix_lines && (c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029));
  };
  while (flags_.comments && !at_end()) {
    if (is_blank(raw())) {
      ++at_;
    } else if (raw() == '#') {
      while (!at_end() && !ends_line(raw())) ++at_;
    } else {
      break;
    }
  }
  return raw();
}

bool Reader::take(uint32_t c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

uint32_t Reader::octal() {
  if (!is_octal(raw())) {
    fail("an octal escape without digits");
    return kEnd;
  }
  const size_t most = raw() <= '3' ? 3 : 2;
  uint32_t value = 0;
  for (size_t i = 0; i < most && is_octal(raw()); ++i) value = value * 8 + (text_[at_++] - '0');
  return value;
}

uint32_t Reader::hexadecimal(size_t digits) {
  uint32_t value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const int digit = hex_value(raw());
    if (digit < 0) {
      fail("expected " + std::to_string(digits) + " hexadecimal digits");
      return kEnd;
    }
    value = value * 16 + static_cast<uint32_t>(digit);
    ++at_;
  }
  return value;
}

// Reads a surrogate pair such as \uD83D\uDE00 as one character.
uint32_t Reader::code_unit() {
  const uint32_t high = hexadecimal(4);
  if (!is_between(0xD800, high, 0xDBFF) || raw() != '\\' || raw(1) != 'u') return high;
  const size_t begin = at_;
  at_ += 2;
  const uint32_t low = hexadecimal(4);
  if (is_between(0xDC00, low, 0xDFFF)) return 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
  at_ = begin;
  return high;
}

uint32_t Reader::braced_hexadecimal() {
  ++at_;
  uint32_t value = 0;
  const size_t begin = at_;
  for (; hex_value(raw()) >= 0 && value <= kCharacterMax; ++at_) {
    value = value * 16 + static_cast<uint32_t>(hex_value(raw()));
  }
  if (at_ == begin || raw() != '}' || value > kCharacterMax) {
    fail("expected \\x{h...h}, at most 10FFFF");
    return kEnd;
  }
  ++at_;
  return value;
}

uint32_t Reader::escaped_character(bool in_range) {
  if (at_end()) {
    fail("nothing after \\");
    return kEnd;
  }
  const uint32_t c = text_[at_++];
  switch (c) {
    case '0': return octal();
    case 'a': return 7;
    case 'e': return 27;
    case 'f': return 12;
    case 'n': return 10;
    case 'r': return 13;
    case 't': return 9;
    case 'u': return code_unit();
    case 'x': return raw() == '{' ? braced_hexadecimal() : hexadecimal(2);
    case 'c':
      if (!at_end()) return text_[at_++] ^ 64;
      fail("nothing after \\c");
      return kEnd;
    case 'v':
      if (in_range) return 11;
      break;
    case 'N': fail("\\N{...}, a character by its name, is not supported"); return kEnd;
    default: break;
  }
  if (!is_ascii_letter(c) && !is_digit(c)) return c;
  --at_;
  fail("there is no escape \\" + utf8_of(c) + " here");
  return kEnd;
}

bool Reader::escaped_set(Set& set) {
  const uint32_t c = raw();
  const uint32_t low = ascii_lower(c);
  if (low != 'd' && low != 'h' && low != 's' && low != 'v' && low != 'w') return false;
  ++at_;
  const bool unicode = flags_.unicode_classes;
  if (low == 'd') set = unicode ? *named_set("U:d") : Set::of('0', '9');
  else if (low == 'w') set = unicode ? *named_set("U:w") : word_set();
  else if (low == 's') set = unicode ? *named_set("U:s") : space_set();
  else set = low == 'h' ? horizontal_set() : vertical_set();
  if (c != low) set = ~set;
  return true;
}

std::string Reader::property_name() {
  std::string name;
  if (raw() != '{') {
    if (!at_end()) name = utf8_of(text_[at_++]);
    return name;
  }
  for (++at_; !at_end() && raw() != '}'; ++at_) name += utf8_of(raw());
  if (at_end()) fail("\\p{ without }");
  else ++at_;
  return name;
}

Set Reader::property(bool negated) {
  const std::string name = property_name();
  if (failed()) return {};
  const std::string cased = flags_.ignore_case ? "i" : "";
  const auto plain = [&](std::string_view of) {
    // Other kinds of names have a colon in the table.
    if (of.find(':') != std::string_view::npos) return std::optional<Set>();
    return named_set(cased.empty() ? std::string(of) : "i:" + std::string(of));
  };
  std::optional<Set> found;
  const size_t equals = name.find('=');
  if (equals != std::string::npos) {
    std::string kind = name.substr(0, equals);
    for (char& c : kind) c = static_cast<char>(ascii_lower(static_cast<unsigned char>(c)));
    const std::string value = name.substr(equals + 1);
    if (kind == "sc" || kind == "script") found = named_set("sc:" + upper_text(value));
    if (kind == "blk" || kind == "block") found = named_set("blk:" + upper_text(value));
    if (kind == "gc" || kind == "general_category") found = plain(value);
  } else if (name.starts_with("In")) {
    found = named_set("blk:" + upper_text(name.substr(2)));
  } else if (name.starts_with("Is")) {
    const std::string rest = name.substr(2);
    found = named_set(cased + "Is:" + upper_text(rest));
    if (!found) found = plain(rest);
    if (!found) found = named_set("sc:" + upper_text(rest));
  } else {
    if (flags_.unicode_classes) found = named_set(cased + "U:" + upper_text(name));
    if (!found) found = plain(name);
  }
  if (found) return negated ? ~*found : *found;
  fail("there is no \\p{" + name + "}");
  return {};
}

Set Reader::single(uint32_t c) const {
  if (flags_.fold() == Fold::Ascii && c < 128) {
    return Set::of({{ascii_lower(c), ascii_lower(c)}, {ascii_upper(c), ascii_upper(c)}});
  }
  Set made = Set::of(c, c);
  if (flags_.fold() != Fold::Unicode) return made;
  const uint32_t to = folded(c);
  if (upper(c) == to) return made;
  made = Set::of(to, to);
  const auto [begin, end] = Cased::get().by_fold.equal_range(to);
  for (auto at = begin; at != end; ++at) made.add(at->second, at->second);
  return made;
}

// Java has a class's characters below 256 in bits, which fold otherwise.
Set Reader::in_class(uint32_t c) const {
  constexpr std::string_view kOthers = "\xFF\xB5IiSsKk\xC5\xE5";
  const bool bits = c < 256 && (flags_.fold() != Fold::Unicode ||
                                kOthers.find(static_cast<char>(c)) == std::string_view::npos);
  if (!bits || c < 128 || flags_.fold() != Fold::Unicode) return single(c);
  Set made = Set::of(c, c);
  made.add(lower(c), lower(c));
  made.add(upper(c), upper(c));
  return made;
}

Set Reader::class_range(uint32_t first, uint32_t last) const {
  Set made = Set::of(first, last);
  if (flags_.fold() == Fold::Ascii) {
    for (uint32_t c = 'A'; c <= 'z'; ++c) {
      if (is_between(first, ascii_upper(c), last) || is_between(first, ascii_lower(c), last)) {
        made.add(c, c);
      }
    }
  }
  if (flags_.fold() == Fold::Unicode) {
    std::vector<Range> more;
    for (const uint32_t c : Cased::get().all) {
      const bool in = is_between(first, upper(c), last) || is_between(first, folded(c), last);
      if (!in) continue;
      if (!more.empty() && more.back().last + 1 == c) more.back().last = c;
      else more.push_back({c, c});
    }
    made = made | Set::made(std::move(more));
  }
  return made;
}

// One item of a class: an escape, a character, a range.
Set Reader::class_item() {
  uint32_t c = peek();
  if (c == kEnd) {
    fail("a [ without ]");
    return {};
  }
  ++at_;
  if (c == '\\') {
    if (raw() == 'p' || raw() == 'P') {
      const bool negated = text_[at_++] == 'P';
      return property(negated);
    }
    const bool in_range = raw(1) == '-';
    Set set;
    if (!(in_range && raw() == 'v') && escaped_set(set)) return set;
    c = escaped_character(in_range);
    if (failed()) return {};
  }
  if (peek() != '-' || raw(1) == '[' || raw(1) == ']') return in_class(c);
  ++at_;
  uint32_t last = peek();
  if (last == kEnd) {
    fail("a [ without ]");
    return {};
  }
  ++at_;
  if (last == '\\') last = escaped_character(true);
  if (failed()) return {};
  if (last < c) {
    fail("a range of a class that ends before it begins");
    return {};
  }
  return class_range(c, last);
}

// Reads what follows && up to the end of the class or another &.
Set Reader::intersected(Set left, const Set& last, bool has_left) {
  bool has_right = false;
  Set right;
  for (uint32_t c = peek(); c != ']' && c != '&' && !failed(); c = peek()) {
    if (c == '[') ++at_;
    right = right | char_class(c == '[');
    has_right = true;
  }
  if (!has_left && !has_right) fail("a && without a class");
  if (!has_left) return right;
  return left & (has_right ? right : last);
}

Set Reader::char_class(bool takes_end) {
  if (++depth_ > kClassesDeepMax) fail("classes nest too deep");
  const bool negated = takes_end && raw() == '^';
  if (negated) ++at_;
  bool any = false;
  Set made, last;
  while (!failed()) {
    const uint32_t c = peek();
    if (c == ']' && any) {
      if (takes_end) ++at_;
      break;
    }
    if (c == '[') {
      ++at_;
      last = char_class(true);
      made = made | last;
    } else if (c == '&') {
      const size_t begin = at_++;
      if (peek() == '&') {
        ++at_;
        made = intersected(std::move(made), last, any);
        any = true;
        continue;
      }
      at_ = begin;
      last = class_item();
      made = made | last;
    } else {
      last = class_item();
      made = made | last;
    }
    any = true;
  }
  --depth_;
  return negated ? ~made : made;
}

}  // namespace serval::tabular::regex
