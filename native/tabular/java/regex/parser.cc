// Java's regular expressions as trees: see parser.h. Load thread.
#include "tabular/java/regex/parser.h"

#include <algorithm>

#include "base/bytes/views.h"
#include "base/limits.h"

namespace serval::tabular::regex {
namespace {

constexpr int kDepthMax = 200;

NodePtr node_of(Kind kind) {
  auto made = std::make_unique<Node>();
  made->kind = kind;
  return made;
}

NodePtr set_node(Set set) {
  NodePtr made = node_of(Kind::Set);
  made->set = std::move(set);
  return made;
}

class Parser : public Reader {
 public:
  explicit Parser(std::string_view text) : Reader(text) {}

  Tree run() {
    Tree made;
    made.root = choice();
    if (!at_end()) fail("a ) without (");
    made.groups = groups_;
    made.names = std::move(names_);
    return made;
  }

 private:
  NodePtr choice() {
    if (++depth_ > kDepthMax) fail("groups nest too deep");
    NodePtr first = sequence();
    if (peek() == '|') {
      NodePtr made = node_of(Kind::Choice);
      made->parts.push_back(std::move(first));
      while (take('|')) made->parts.push_back(sequence());
      first = std::move(made);
    }
    --depth_;
    return first;
  }

  NodePtr sequence() {
    NodePtr made = node_of(Kind::Sequence);
    for (uint32_t c = peek(); c != kEnd && c != '|' && c != ')' && !failed(); c = peek()) {
      NodePtr one = c == '(' ? group() : item(c);
      if (one != nullptr) made->parts.push_back(repeated(std::move(one)));
    }
    return made;
  }

  // Reads an item that a quantifier may follow.
  NodePtr item(uint32_t c) {
    switch (c) {
      case '[': ++at_; return set_node(char_class(true));
      case '^':
        ++at_;
        return line_node(flags_.multi_line ? Kind::Caret : Kind::Begin, flags_.multi_line);
      case '$': ++at_; return line_node(Kind::Dollar, flags_.multi_line);
      case '.': ++at_; return set_node(dot());
      case '\\': ++at_; return escape();
      case '{': return node_of(Kind::Empty);
      case '*':
      case '+':
      case '?':
        fail("a quantifier " + utf8_of(c) + " without anything before it");
        return node_of(Kind::Empty);
      default: ++at_; return set_node(single(c));
    }
  }

  NodePtr line_node(Kind kind, bool multi_line) const {
    NodePtr made = node_of(kind);
    made->multi_line = multi_line;
    made->unix_lines = flags_.unix_lines;
    return made;
  }

  Set dot() const {
    if (flags_.dot_all) return Set::all();
    if (flags_.unix_lines) return ~Set::of('\n', '\n');
    return ~Set::of({{'\n', '\n'}, {'\r', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}});
  }

  // Reads what follows a backslash outside of a class.
  NodePtr escape() {
    const uint32_t c = raw();
    if (c >= '1' && c <= '9') return reference();
    Set set;
    switch (c) {
      case 'p':
      case 'P': ++at_; return set_node(property(c == 'P'));
      case 'A': ++at_; return node_of(Kind::Begin);
      case 'z': ++at_; return node_of(Kind::End);
      case 'Z': ++at_; return line_node(Kind::Dollar, false);
      case 'G': ++at_; return node_of(Kind::LastEnd);
      case 'X': ++at_; return node_of(Kind::Grapheme);
      case 'R': ++at_; return line_end();
      case 'k': ++at_; return named_reference();
      case 'b':
        if (raw(1) == '{' && raw(2) == 'g') return grapheme_edge();
        break;
      default: break;
    }
    if (c == 'b' || c == 'B') {
      ++at_;
      NodePtr made = node_of(Kind::WordEdge);
      made->negated = c == 'B';
      made->unicode = flags_.unicode_classes;
      return made;
    }
    if (escaped_set(set)) return set_node(std::move(set));
    return set_node(single(escaped_character(false)));
  }

  NodePtr grapheme_edge() {
    if (raw(3) != '}') fail("expected \\b{g}");
    else at_ += 4;
    return node_of(Kind::GraphemeEdge);
  }

  // \r\n, or one character that ends a line.
  static NodePtr line_end() {
    NodePtr both = node_of(Kind::Sequence);
    both->parts.push_back(set_node(Set::of('\r', '\r')));
    both->parts.push_back(set_node(Set::of('\n', '\n')));
    NodePtr made = node_of(Kind::Choice);
    made->parts.push_back(std::move(both));
    made->parts.push_back(set_node(Set::of({{10, 13}, {0x85, 0x85}, {0x2028, 0x2029}})));
    NodePtr group = node_of(Kind::Group);
    group->parts.push_back(std::move(made));
    group->is_line_end = true;
    return group;
  }

  NodePtr back_to(int group) const {
    NodePtr made = node_of(Kind::Back);
    made->group = group;
    made->fold = flags_.fold();
    return made;
  }

  // Reads the longest run of digits that names a group that has begun.
  NodePtr reference() {
    int group = static_cast<int>(text_[at_++] - '0');
    while (is_digit(raw())) {
      const int longer = group * 10 + static_cast<int>(raw() - '0');
      if (longer > groups_) break;
      group = longer;
      ++at_;
    }
    return back_to(group);
  }

  std::string group_name() {
    std::string name;
    for (uint32_t c = raw(); c != '>'; c = raw()) {
      const uint32_t low = c | 0x20;
      const bool fits = (low >= 'a' && low <= 'z' && c < 128) || (is_digit(c) && !name.empty());
      if (!fits) {
        fail("a group's name: expected letters and digits, and >");
        return name;
      }
      name.push_back(static_cast<char>(c));
      ++at_;
    }
    ++at_;
    if (name.empty()) fail("a group without a name");
    return name;
  }

  NodePtr named_reference() {
    if (raw() != '<') {
      fail("\\k without <name>");
      return node_of(Kind::Empty);
    }
    ++at_;
    const std::string name = group_name();
    const auto known = std::ranges::find(names_, name, &Names::name);
    if (known != names_.end()) return back_to(known->group);
    fail("there is no group '" + name + "'");
    return node_of(Kind::Empty);
  }

  // null: flags for what follows.
  NodePtr group() {
    ++at_;
    const Flags outer = flags_;
    NodePtr made = node_of(Kind::Group);
    if (raw() != '?') {
      made->group = ++groups_;
    } else {
      ++at_;
      const bool is_flags = !special_group(*made);
      if (is_flags && !failed()) {
        read_flags();
        if (take(')')) return nullptr;
        if (!take(':')) fail("there is no such flag");
      }
    }
    made->parts.push_back(choice());
    if (!take(')') && !failed()) fail("a ( without )");
    flags_ = outer;
    return made;
  }

  // Reads the characters after `(?` and sets the kind of the group. Returns false for a list of
  // flags.
  bool special_group(Node& made) {
    const uint32_t c = raw();
    switch (c) {
      case ':': ++at_; return true;
      case '>':
        ++at_;
        made.kind = Kind::Atomic;
        return true;
      case '=':
      case '!': break;
      case '<':
        ++at_;
        if (raw() != '=' && raw() != '!') {
          name_group(made);
          return true;
        }
        made.behind = true;
        break;
      default: return false;
    }
    made.kind = Kind::Look;
    made.negated = text_[at_++] == '!';
    return true;
  }

  void name_group(Node& made) {
    const std::string name = group_name();
    if (std::ranges::find(names_, name, &Names::name) != names_.end()) {
      fail("two groups are named '" + name + "'");
    }
    made.group = ++groups_;
    names_.push_back({name, made.group});
  }

  void read_flags() {
    bool on = true;
    for (uint32_t c = peek();; c = peek()) {
      switch (c) {
        case 'i': flags_.ignore_case = on; break;
        case 'm': flags_.multi_line = on; break;
        case 's': flags_.dot_all = on; break;
        case 'd': flags_.unix_lines = on; break;
        case 'u': flags_.unicode_case = on; break;
        case 'x': flags_.comments = on; break;
        case 'U':
          flags_.unicode_classes = on;
          flags_.unicode_case = on;
          break;
        case '-':
          if (!on) return;
          on = false;
          break;
        default: return;
      }
      ++at_;
    }
  }

  int count() {
    int64_t value = 0;
    while (is_digit(raw()) && value < kNoMax) value = value * 10 + (text_[at_++] - '0');
    if (value >= kNoMax) fail("the count of a repetition is too large");
    return static_cast<int>(std::min<int64_t>(value, kNoMax));
  }

  bool counted(Node& made) {
    if (!is_digit(raw(1))) {
      fail("a { that is no repetition");
      return false;
    }
    ++at_;
    made.min = made.max = count();
    if (raw() == ',') {
      ++at_;
      made.max = is_digit(raw()) ? count() : kNoMax;
    }
    if (raw() != '}') fail("a repetition without }");
    else ++at_;
    if (made.max < made.min) fail("the maximum of a repetition is below its minimum");
    return true;
  }

  NodePtr repeated(NodePtr one) {
    NodePtr made = node_of(Kind::Repeat);
    made->max = kNoMax;
    switch (peek()) {
      case '?':
        ++at_;
        made->max = 1;
        break;
      case '*': ++at_; break;
      case '+':
        ++at_;
        made->min = 1;
        break;
      case '{':
        if (!counted(*made)) return one;
        break;
      default: return one;
    }
    if (take('?')) made->mode = Mode::Lazy;
    else if (take('+')) made->mode = Mode::Possessive;
    if (one->is_line_end) one->kind = Kind::Atomic;  // repeated, \r\n is never two line ends
    made->parts.push_back(std::move(one));
    return made;
  }

  int depth_ = 0, groups_ = 0;
  std::vector<Names> names_;
};

int times(int length, int count) {
  const int64_t product = int64_t{length} * count;
  return static_cast<int>(std::min<int64_t>(product, kNoMax));
}

}  // namespace

Length length_of(const Node& node) {
  Length made;
  switch (node.kind) {
    case Kind::Set: return {1, 1};
    case Kind::Back: return {0, kNoMax};
    case Kind::Grapheme: return {1, kNoMax};
    case Kind::Group:
    case Kind::Atomic: return length_of(*node.parts[0]);
    case Kind::Sequence:
      for (const NodePtr& part : node.parts) {
        const Length of = length_of(*part);
        made.min = static_cast<int>(std::min<int64_t>(int64_t{made.min} + of.min, kNoMax));
        made.max = static_cast<int>(std::min<int64_t>(int64_t{made.max} + of.max, kNoMax));
      }
      return made;
    case Kind::Choice:
      made = length_of(*node.parts[0]);
      for (const NodePtr& part : node.parts) {
        const Length of = length_of(*part);
        made = {std::min(made.min, of.min), std::max(made.max, of.max)};
      }
      return made;
    case Kind::Repeat: {
      const Length of = length_of(*node.parts[0]);
      return {times(of.min, node.min), node.max == kNoMax ? kNoMax : times(of.max, node.max)};
    }
    default: return made;
  }
}

Result<Tree> parse(std::string_view text) {
  Parser parser(text);
  Tree made = parser.run();
  if (!parser.failed()) return made;
  return make_error(ErrorCode::ModelInvalid,
                    "regular expression '" + std::string(text) + "', character " +
                        std::to_string(parser.fault_at()) + ": " + parser.fault());
}

}  // namespace serval::tabular::regex
