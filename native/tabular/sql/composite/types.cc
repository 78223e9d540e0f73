// Registry of composite types. Any thread: types are added under a lock and read without one.
#include "tabular/sql/composite/types.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "tabular/sql/values.h"

namespace serval::tabular::sql {

namespace {

// Numbers below this are arrays of a plain type: the type's number is the high byte.
constexpr size_t kFirstAdded = 0x1000;
constexpr size_t kNumbers = 0x10000;
constexpr size_t kPlainTypes = 16;

constexpr SqlType numbered(size_t number) {
  return {Type::List, static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number & 0xFF)};
}

size_t number_of(SqlType type) {
  return static_cast<size_t>(type.precision) << 8 | static_cast<size_t>(type.scale);
}

// All types that any expression has created; the statements of the models and the types of their
// columns bound the number. When the numbers run out, a new type has no parts.
class Registry {
 public:
  Registry() {
    for (size_t i = 0; i < kPlainTypes; ++i) {
      plain_[i].parts = {SqlType{static_cast<Type>(i)}};
    }
    unknown_.form = Form::Struct;
  }

  const Composite& of(SqlType type) const {
    const size_t number = number_of(type);
    if (number < kFirstAdded) return plain_[(number >> 8) % kPlainTypes];
    const Composite* found = added_[number - kFirstAdded].load(std::memory_order_acquire);
    return found == nullptr ? unknown_ : *found;
  }

  SqlType add(Composite made) {
    const std::string key = key_of(made);
    const std::scoped_lock held(lock_);
    if (const auto found = numbers_.find(key); found != numbers_.end()) {
      return numbered(found->second);
    }
    if (next_ == kNumbers - 1) return numbered(kNumbers - 1);
    const size_t number = next_++;
    kept_.push_back(std::move(made));
    added_[number - kFirstAdded].store(&kept_.back(), std::memory_order_release);
    numbers_.emplace(key, number);
    return numbered(number);
  }

 private:
  static std::string key_of(const Composite& of) {
    std::string key(1, static_cast<char>('0' + static_cast<int>(of.form)));
    for (const SqlType part : of.parts) {
      key += static_cast<char>(part.type);
      key += static_cast<char>(part.precision);
      key += static_cast<char>(part.scale);
    }
    for (const std::string& name : of.names) key += std::to_string(name.size()) + ":" + name;
    return key;
  }

  std::array<Composite, kPlainTypes> plain_;
  Composite unknown_;
  std::array<std::atomic<const Composite*>, kNumbers - kFirstAdded> added_ = {};
  std::mutex lock_;
  std::deque<Composite> kept_;
  std::unordered_map<std::string, size_t> numbers_;
  size_t next_ = kFirstAdded;
};

Registry& registry() {
  static Registry all;
  return all;
}

bool is_plain(SqlType element) {
  return element.type != Type::List && element.type != Type::Vector &&
         element.type != Type::Decimal && element.precision == 0 && element.scale == 0;
}

// The text up to the comma or the end that is not inside brackets.
std::string_view first_part(std::string_view text) {
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '<' || text[at] == '(') ++depth;
    if (text[at] == '>' || text[at] == ')') --depth;
    if (text[at] == ',' && depth == 0) return text.substr(0, at);
  }
  return text;
}

// From the first unit of both to the last one.
SqlType common_interval(const Composite& a, const Composite& b) {
  constexpr std::array<std::string_view, 6> kUnits = {"year", "month",  "day",
                                                      "hour", "minute", "second"};
  const auto place = [&](const std::string& unit) {
    return std::find(kUnits.begin(), kUnits.end(), unit) - kUnits.begin();
  };
  const auto first = kUnits[static_cast<size_t>(std::min(place(a.names[0]), place(b.names[0])))];
  const auto last = kUnits[static_cast<size_t>(std::max(place(a.names[1]), place(b.names[1])))];
  return a.form == Form::MonthInterval ? month_interval(first, last) : time_interval(first, last);
}

}  // namespace

const Composite& composite_of(SqlType type) { return registry().of(type); }

SqlType array_of(SqlType element) {
  if (is_plain(element)) return numbered(static_cast<size_t>(element.type) << 8);
  return registry().add({Form::Array, {element}, {}});
}

SqlType map_of(SqlType key, SqlType value) { return registry().add({Form::Map, {key, value}, {}}); }

SqlType struct_of(std::vector<std::string> names, std::vector<SqlType> parts) {
  return registry().add({Form::Struct, std::move(parts), std::move(names)});
}

SqlType interval_type() {
  static const SqlType made = registry().add({Form::Interval, {}, {}});
  return made;
}

SqlType month_interval(std::string_view first, std::string_view last) {
  return registry().add({Form::MonthInterval, {}, {std::string(first), std::string(last)}});
}

SqlType time_interval(std::string_view first, std::string_view last) {
  return registry().add({Form::TimeInterval, {}, {std::string(first), std::string(last)}});
}

bool is_form(SqlType type, Form form) {
  return type.type == Type::List && composite_of(type).form == form;
}

SqlType part_of(SqlType type, size_t index) {
  if (type.type != Type::List) return {};
  const Composite& of = composite_of(type);
  return index < of.parts.size() ? of.parts[index] : SqlType{};
}

std::string composite_text(SqlType type) {
  const Composite& of = composite_of(type);
  switch (of.form) {
    case Form::Array: return "array<" + type_text(part_of(type, 0)) + ">";
    case Form::Map:
      return "map<" + type_text(part_of(type, 0)) + "," + type_text(part_of(type, 1)) + ">";
    case Form::Struct: {
      std::string text = "struct<";
      for (size_t i = 0; i < of.parts.size(); ++i) {
        text += (i > 0 ? "," : "") + of.names[i] + ":" + type_text(of.parts[i]);
      }
      return text + ">";
    }
    case Form::Interval: return "interval";
    default: {
      const std::string& first = of.names[0];
      return "interval " + first + (first == of.names[1] ? "" : " to " + of.names[1]);
    }
  }
}

std::optional<SqlType> composite_named(std::string_view name) {
  if (!name.ends_with(">")) return std::nullopt;
  const bool map = name.starts_with("map<");
  if (!map && !name.starts_with("array<")) return std::nullopt;
  const size_t front = map ? 4 : 6;
  const std::string_view inside = name.substr(front, name.size() - front - 1);
  const std::string_view first = first_part(inside);
  const auto part = type_named(first);
  if (!part) return std::nullopt;
  if (!map) return first.size() == inside.size() ? std::optional(array_of(*part)) : std::nullopt;
  if (first.size() == inside.size()) return std::nullopt;
  const auto value = type_named(inside.substr(first.size() + 1));
  return value ? std::optional(map_of(*part, *value)) : std::nullopt;
}

std::optional<SqlType> common_composite(SqlType a, SqlType b, CommonType common) {
  if (a == b) return a;
  const Composite &left = composite_of(a), &right = composite_of(b);
  if (left.form != right.form || left.parts.size() != right.parts.size()) return std::nullopt;
  if (left.form == Form::MonthInterval || left.form == Form::TimeInterval) {
    return common_interval(left, right);
  }
  std::vector<SqlType> parts;
  for (size_t i = 0; i < left.parts.size(); ++i) {
    const auto part = common(left.parts[i], right.parts[i]);
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  switch (left.form) {
    case Form::Array: return array_of(parts[0]);
    case Form::Map: return map_of(parts[0], parts[1]);
    case Form::Struct:
      if (left.names != right.names) return std::nullopt;
      return struct_of(left.names, std::move(parts));
    default: return a;
  }
}

}  // namespace serval::tabular::sql
