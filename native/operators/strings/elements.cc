// String operators on single elements: case, blanks, length, substrings, base64. Hot path. Source:
// TensorFlow's documentation of each operator and results of TensorFlow 2.21.
#include <algorithm>
#include <array>

#include "operators/groups.h"
#include "operators/strings/case_map.h"
#include "operators/strings/values.h"

namespace serval::operators {

namespace {

constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_trail(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// StringLower, StringUpper: map only ASCII letters if the encoding is "".
template <bool kUpper>
class StringCase : public StringMap {
 public:
  explicit StringCase(bool unicode) : unicode_(unicode) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    const std::string encoding = attributes.text("encoding", "");
    if (!encoding.empty() && encoding != "utf-8") {
      return invalid_attribute("only utf-8 or '' (no encoding) is supported, received " + encoding);
    }
    return std::unique_ptr<Kernel>(std::make_unique<StringCase>(!encoding.empty()));
  }

 protected:
  Status map(std::string_view element, StringsOut& out) const override {
    if (unicode_) {
      kUpper ? append_upper(element, out) : append_lower(element, out);
      return ok_status();
    }
    constexpr char kFirst = kUpper ? 'a' : 'A';
    for (char c : element) {
      out.append(c >= kFirst && c <= kFirst + 25 ? static_cast<char>(c ^ 0x20) : c);
    }
    return ok_status();
  }

 private:
  bool unicode_;
};

class StringStrip : public StringMap {
 protected:
  Status map(std::string_view element, StringsOut& out) const override {
    while (!element.empty() && is_blank(element.front())) element.remove_prefix(1);
    while (!element.empty() && is_blank(element.back())) element.remove_suffix(1);
    out.append(element);
    return ok_status();
  }
};

// The attribute "unit": true for characters.
Result<bool> counts_characters(const KernelAttributes& attributes) {
  const std::string unit = attributes.text("unit", "BYTE");
  if (unit == "BYTE") return false;
  if (unit == "UTF8_CHAR") return true;
  return invalid_attribute("Invalid unit \"" + unit + "\": Should be one of: BYTE, UTF8_CHAR");
}

template <typename K>
Result<std::unique_ptr<Kernel>> make_with_unit(const KernelAttributes& attributes) {
  const Result<bool> characters = counts_characters(attributes);
  if (!characters.ok()) return characters.error();
  return std::unique_ptr<Kernel>(std::make_unique<K>(characters.value()));
}

class StringLength : public Kernel {
 public:
  explicit StringLength(bool characters) : characters_(characters) {}
  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    Result<std::span<uint8_t>> memory = context.output(0, DType::Int32, input.value().shape);
    if (!memory.ok()) return memory.error();
    uint8_t* to = memory.value().data();
    for (std::string_view element : input.value().strings) {
      const auto trail = characters_ ? std::count_if(element.begin(), element.end(), is_trail) : 0;
      const auto length = static_cast<int32_t>(element.size() - static_cast<size_t>(trail));
      std::memcpy(to, &length, sizeof(length));
      to += sizeof(length);
    }
    return ok_status();
  }

 private:
  bool characters_;
};

// The range of a substring; false if the position is outside.
struct Range {
  size_t begin = 0;
  size_t length = 0;
};

bool byte_range(std::string_view element, int64_t position, int64_t length, Range& range) {
  const auto size = static_cast<int64_t>(element.size());
  if (position < 0) position = position < -size ? -1 : position + size;
  if (position < 0 || position > size) return false;
  // A negative length means the rest, as a very large unsigned one would.
  const int64_t rest = size - position;
  range.begin = static_cast<size_t>(position);
  range.length = static_cast<size_t>(length < 0 ? rest : std::min(rest, length));
  return true;
}

// Advances `at` by `count` characters; false if the end comes first.
bool forward(std::string_view text, int64_t count, size_t& at) {
  int64_t done = 0;
  for (; done < count && at < text.size(); ++done) {
    for (++at; at < text.size() && is_trail(text[at]);) ++at;
  }
  return done == count || count < 0;
}

// Moves `at` back by `count` characters; false if the start comes first.
bool back(std::string_view text, int64_t count, size_t& at) {
  int64_t done = 0;
  for (; done < count && at > 0; ++done) {
    for (--at; at > 0 && is_trail(text[at]);) --at;
  }
  return done == count;
}

bool character_range(std::string_view element, int64_t position, int64_t length, Range& range) {
  if (position >= 0) {
    size_t begin = 0;
    if (!forward(element, position, begin)) return false;
    size_t end = begin;
    if (length > 0) (void)forward(element, length, end);
    range = {begin, end - begin};
    return true;
  }
  // For a position counted from the end: goes back to the end of the substring, then to its start.
  const auto from_end = position == INT64_MIN ? INT64_MAX : -position;
  int64_t beyond = 0;
  if (__builtin_sub_overflow(from_end, length, &beyond)) beyond = length < 0 ? INT64_MAX : 0;
  beyond = std::max<int64_t>(beyond, 0);
  size_t end = element.size();
  if (!back(element, beyond, end)) return false;
  size_t begin = end;
  if (!back(element, from_end - beyond, begin)) return false;
  range = {begin, end - begin};
  return true;
}

// The shapes of one run of Substr, with TensorFlow's broadcasting (its kernel supports two dims at
// most).
struct Broadcast {
  Shape shape;
  std::vector<size_t> text_step, position_step;  // per dim of `shape`, in elements
};

// Strides between neighbours along `shape`'s dims; 0 for a broadcast dim.
std::vector<size_t> steps_of(const Shape& own, const Shape& shape) {
  std::vector<size_t> steps(shape.rank(), 0);
  size_t step = 1;
  for (size_t i = 0; i < own.rank(); ++i) {
    const int64_t dim = own[own.rank() - 1 - i];
    if (dim != 1) steps[shape.rank() - 1 - i] = step;
    step *= static_cast<size_t>(dim);
  }
  return steps;
}

Result<Broadcast> broadcast(const Shape& text, const Shape& position) {
  Broadcast result;
  const size_t rank = std::max(text.rank(), position.rank());
  for (size_t i = 0; i < rank; ++i) {
    const auto dim = [&](const Shape& of) {
      return i + of.rank() < rank ? 1 : of[i + of.rank() - rank];
    };
    const int64_t a = dim(text), b = dim(position);
    if (a != b && a != 1 && b != 1) {
      return invalid_argument("Incompatible shapes: " + text.to_string() + " vs. " +
                              position.to_string());
    }
    (void)result.shape.push_back(a == 1 ? b : a);
  }
  if (position.rank() != 0 && !(text == position) && rank > 2) {
    return make_error(ErrorCode::Unimplemented, "Substr broadcast not implemented for " +
                                                    std::to_string(rank) + " dimensions");
  }
  result.text_step = steps_of(text, result.shape);
  result.position_step = steps_of(position, result.shape);
  return result;
}

class Substr : public Kernel {
 public:
  explicit Substr(bool characters) : characters_(characters) {}
  Status run(KernelContext& context) const override {
    const Result<TensorView> text = string_input(context, 0);
    if (!text.ok()) return text.error();
    const Result<TensorView> position = integer_input(context, 1);
    if (!position.ok()) return position.error();
    const Result<TensorView> length = integer_input(context, 2);
    if (!length.ok()) return length.error();
    const Shape& shape = position.value().shape;
    if (!(shape == length.value().shape)) {
      return invalid_argument("pos and len should have the same shape, got: " + shape.to_string() +
                              " vs. " + length.value().shape.to_string());
    }
    const Result<Broadcast> how = broadcast(text.value().shape, shape);
    if (!how.ok()) return how.error();
    return cut(context, text.value(), position.value(), length.value(), how.value());
  }

 private:
  Status cut(KernelContext& context, const TensorView& text, const TensorView& position,
             const TensorView& length, const Broadcast& how) const {
    StringsOut out;
    const size_t count = static_cast<size_t>(how.shape.elements().value_or(0));
    // At most two dims can be broadcast, but equal shapes and scalars may have any number.
    const bool plain = is_scalar(position) || text.shape == position.shape;
    const size_t columns =
        plain || how.shape.rank() == 0 ? 1 : static_cast<size_t>(how.shape[how.shape.rank() - 1]);
    for (size_t i = 0; i < count && !out.is_over(); ++i) {
      size_t at = i, from = is_scalar(position) ? 0 : i;
      if (!plain) {
        const size_t last = how.shape.rank() - 1, row = i / columns, column = i % columns;
        const auto offset = [&](const std::vector<size_t>& steps) {
          return column * steps[last] + (last == 0 ? 0 : row * steps[0]);
        };
        at = offset(how.text_step);
        from = offset(how.position_step);
      }
      const std::string_view element = text.strings[at];
      const int64_t pos = integer_at(position, from), len = integer_at(length, from);
      Range range;
      const bool fits = characters_ ? character_range(element, pos, len, range)
                                    : byte_range(element, pos, len, range);
      if (!fits) return out_of_range(element, pos, i, how.shape, plain ? 0 : columns);
      out.add(element.substr(range.begin, range.length));
    }
    return out.write(context, 0, how.shape);
  }

  Status out_of_range(std::string_view element, int64_t position, size_t index, const Shape& shape,
                      size_t columns) const {
    std::string where = std::to_string(index);
    if (columns != 0 && shape.rank() == 2 && !characters_) {
      where = "(" + std::to_string(index / columns) + ", " + std::to_string(index % columns) + ")";
    } else if (columns != 0 && shape.rank() == 2) {
      where = std::to_string(index / columns);
    }
    std::string what = "string";
    if (!characters_) what += " b'" + std::string(element.substr(0, kErrorValueBytesMax)) + "'";
    return invalid_argument("pos " + std::to_string(position) + " out of range for " + what +
                            " at index " + where);
  }

  bool characters_;
};

constexpr std::string_view kWebSafe =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr uint32_t kNoDigit = 0x80000000u;

constexpr auto kDigits = [] {
  std::array<uint32_t, 256> table{};
  table.fill(kNoDigit);
  for (uint32_t i = 0; i < 64; ++i) table[static_cast<uint8_t>(kWebSafe[i])] = i;
  return table;
}();

class EncodeBase64 : public StringMap {
 public:
  explicit EncodeBase64(bool pad) : pad_(pad) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    return std::unique_ptr<Kernel>(
        std::make_unique<EncodeBase64>(attributes.integer("pad", 0) != 0));
  }

 protected:
  Status map(std::string_view element, StringsOut& out) const override {
    for (; !element.empty(); element.remove_prefix(std::min<size_t>(element.size(), 3))) {
      const size_t bytes = std::min<size_t>(element.size(), 3);
      uint32_t group = 0;
      for (size_t i = 0; i < bytes; ++i) {
        group |= uint32_t{static_cast<uint8_t>(element[i])} << (16 - 8 * i);
      }
      for (size_t i = 0; i <= bytes; ++i) out.append(kWebSafe[(group >> (18 - 6 * i)) & 63]);
      for (size_t i = bytes; pad_ && i < 3; ++i) out.append('=');
    }
    return ok_status();
  }

 private:
  bool pad_;
};

// Web-safe alphabet; padding may be omitted but not occur inside.
class DecodeBase64 : public StringMap {
 protected:
  Status map(std::string_view element, StringsOut& out) const override {
    if (element.size() % 4 == 0 && element.ends_with('=')) {
      element.remove_suffix(element.ends_with("==") ? 2 : 1);
    }
    while (!element.empty()) {
      const size_t characters = std::min<size_t>(element.size(), 4);
      if (characters == 1) {
        return invalid_argument("Base64 string length cannot be 1 modulo 4.");
      }
      uint32_t group = 0;
      for (size_t i = 0; i < characters; ++i) {
        const uint32_t digit = kDigits[static_cast<uint8_t>(element[i])];
        if (digit == kNoDigit) return invalid_argument("Invalid character found in base64.");
        group |= digit << (18 - 6 * i);
      }
      for (size_t i = 0; i + 1 < characters; ++i) {
        out.append(static_cast<char>(group >> (16 - 8 * i)));
      }
      element.remove_prefix(characters);
    }
    return ok_status();
  }
};

}  // namespace

std::vector<OperatorType> string_element_operators() {
  const Operand string = port(DType::Bytes), integer = port(DType::Invalid);
  return {
      {"StringLower", {string}, {string}, StringCase<false>::make},
      {"StringUpper", {string}, {string}, StringCase<true>::make},
      {"StringStrip", {string}, {string}, make_plain<StringStrip>},
      {"StringLength", {string}, {port(DType::Int32)}, make_with_unit<StringLength>},
      {"Substr", {string, integer, integer}, {string}, make_with_unit<Substr>},
      {"EncodeBase64", {string}, {string}, EncodeBase64::make},
      {"DecodeBase64", {string}, {string}, make_plain<DecodeBase64>},
  };
}

}  // namespace serval::operators
