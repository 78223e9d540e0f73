// Translation of Java's regular expressions to RE2's syntax. Load thread.
#include "tabular/java/regex/re2.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace serval::tabular::regex {
namespace {

constexpr int kRepeatsMax = 1000;  // RE2's own

class Writer {
 public:
  bool write(const Node& node) {
    switch (node.kind) {
      case Kind::Empty: made.text += "(?:)"; return true;
      case Kind::Set: set(node.set); return true;
      case Kind::Sequence: return sequence(node);
      case Kind::Choice: return choice(node);
      case Kind::Group: return group(node);
      case Kind::Repeat: return repeat(node);
      case Kind::Begin: made.text += "\\A"; return true;
      case Kind::End: made.text += "\\z"; return true;
      case Kind::Dollar:
        made.has_end = true;
        made.text += "\\z";
        return !node.multi_line;
      case Kind::WordEdge:
        made.ascii_only = true;
        made.text += node.negated ? "\\B" : "\\b";
        return !node.unicode;
      default: return false;
    }
  }
  ForRe2 made;

 private:
  void character(uint32_t c) {
    std::array<char, 8> digits = {};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), c, 16);
    made.text += "\\x{";
    made.text.append(digits.data(), end);
    made.text += '}';
  }

  void set(const Set& set) {
    if (set.ranges().empty()) {
      made.text += "[^\\x{0}-\\x{10FFFF}]";
      return;
    }
    // RE2 makes [Kk] a letter without case, which may match the Kelvin sign too.
    if (set.ranges().size() == 2 && (set.has('k') || set.has('s'))) made.ascii_only = true;
    made.text += '[';
    for (const Range& range : set.ranges()) {
      character(range.first);
      if (range.last == range.first) continue;
      made.text += '-';
      character(range.last);
    }
    made.text += ']';
  }

  bool sequence(const Node& node) {
    return std::ranges::all_of(node.parts, [this](const NodePtr& part) { return write(*part); });
  }

  bool choice(const Node& node) {
    made.text += "(?:";
    for (const NodePtr& part : node.parts) {
      if (part != node.parts.front()) made.text += '|';
      if (!write(*part)) return false;
    }
    made.text += ')';
    return true;
  }

  bool group(const Node& node) {
    made.text += node.group > 0 ? "(" : "(?:";
    if (!write(*node.parts[0])) return false;
    made.text += ')';
    return true;
  }

  bool repeat(const Node& node) {
    const bool is_open = node.max == kNoMax;
    if (node.mode == Mode::Possessive || node.min > kRepeatsMax) return false;
    if ((!is_open && node.max > kRepeatsMax) || length_of(*node.parts[0]).min == 0) return false;
    made.text += "(?:";
    if (!write(*node.parts[0])) return false;
    made.text += "){" + std::to_string(node.min) + ',';
    if (!is_open) made.text += std::to_string(node.max);
    made.text += node.mode == Mode::Lazy ? "}?" : "}";
    return true;
  }
};

}  // namespace

std::optional<ForRe2> to_re2(const Tree& tree) {
  Writer writer;
  if (!writer.write(*tree.root)) return std::nullopt;
  return std::move(writer.made);
}

}  // namespace serval::tabular::regex
