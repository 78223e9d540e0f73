// The plain JSON reader: an iterative state machine modelled on RapidJSON's, so that reasons and
// offsets of errors are those known to TensorFlow Serving's clients. Any thread. Must not recurse
// and must stay linear in the text. Source: tfserving.md 1.4, 1.10 (RapidJSON 1.1.0 with
// kParseIterative, kParseNanAndInf, kParseStopWhenDone).
#include "codec/json/reader.h"

#include <algorithm>

#include "codec/json/lexer.h"
#include "simdjson.h"

namespace serval {

namespace {

using namespace json_reason;

// The last token, which determines what may follow.
enum class State : uint8_t {
  Start,
  ObjectOpen,
  Key,
  Colon,
  MemberValue,
  MemberComma,
  ArrayOpen,
  Element,
  ElementComma,
  Finish
};

constexpr size_t kFirstNodes = 32;

Error no_memory() { return make_error(ErrorCode::MemoryFull, "no memory for the request"); }

// The reason to refuse a byte that cannot follow.
std::string_view reason_in(State state) {
  switch (state) {
    case State::Start: return kEmptyDocument;
    case State::ObjectOpen:
    case State::MemberComma: return kMissName;
    case State::Key: return kMissColon;
    case State::MemberValue: return kMissCurly;
    case State::Element: return kMissSquare;
    case State::Colon:
    case State::ArrayOpen:
    case State::ElementComma:
    case State::Finish: return kInvalidValue;
  }
  return kInvalidValue;
}

class Reader {
 public:
  Reader(std::string_view text, Arena& arena, const JsonRules& rules, JsonDocument* out)
      : text_(text), rules_(rules), lexer_(text, arena), budget_(arena.budget()), document_(out) {}

  Status read();

 private:
  struct Open {
    JsonKind kind;
    uint32_t node = 0;
    uint32_t last_child = 0;
  };

  // Reads one token; false after lexer_.fail().
  bool step();
  bool value_step(char c);
  bool key_step(char c);
  bool delimiter_step(char c);
  bool scalar(char c);

  bool room_for_node();
  bool refuse() { return lexer_.fail(reason_in(state_), lexer_.position()); }
  // The node, if nodes are kept; else null.
  JsonNode* add(JsonKind kind, size_t begin);
  bool open(JsonKind kind);
  void close();
  State after_value() const {
    if (open_.empty()) return State::Finish;
    return open_.back().kind == JsonKind::Array ? State::Element : State::MemberValue;
  }

  const std::string_view text_;
  const JsonRules& rules_;
  JsonLexer lexer_;
  MemoryBudget* const budget_;
  JsonDocument* const document_;
  State state_ = State::Start;
  std::vector<Open> open_;
  std::string_view key_;
};

Status Reader::read() {
  if (document_ != nullptr) {
    document_->nodes.clear();
    document_->end_offset = 0;
  }
  lexer_.skip_byte_order_mark();
  lexer_.skip_blanks();
  bool ok = true;
  while (ok && state_ != State::Finish && lexer_.peek() != '\0') {
    if (!room_for_node()) return no_memory();
    ok = step();
    if (document_ != nullptr && document_->nodes.size() > kJsonNodesMax) {
      return make_error(ErrorCode::BodyTooLarge,
                        "JSON document with more than " + std::to_string(kJsonNodesMax) +
                            " values that could not be read as a plain tensor request");
    }
    if (ok && state_ != State::Finish) lexer_.skip_blanks();
  }
  if (ok && state_ != State::Finish) ok = refuse();
  const size_t end = lexer_.position();
  if (ok && rules_.whole) {
    lexer_.skip_blanks();
    const size_t behind = lexer_.position();
    ok = behind == text_.size() || lexer_.fail(kTextBehind, behind);
  }
  lexer_.finish();
  if (!ok && lexer_.reason() == kNoMemory) return no_memory();
  if (!ok) return rules_.error(text_, lexer_.reason(), lexer_.error_offset(), rules_);
  if (document_ != nullptr) document_->end_offset = end;
  return {};
}

// A step adds at most one node. It is counted before it is allocated.
bool Reader::room_for_node() {
  if (document_ == nullptr) return true;
  std::vector<JsonNode>& nodes = document_->nodes;
  const size_t before = nodes.capacity();
  if (nodes.size() < before) return true;
  const size_t wanted = std::max(kFirstNodes, 2 * before);
  if (!document_->counted.more(budget_, wanted * sizeof(JsonNode))) return false;
  nodes.reserve(wanted);
  document_->counted.less(before * sizeof(JsonNode));
  return true;
}

bool Reader::step() {
  const char c = lexer_.peek();
  switch (state_) {
    case State::Start:
    case State::Colon:
    case State::ArrayOpen:
    case State::ElementComma: return value_step(c);
    case State::ObjectOpen:
    case State::MemberComma: return key_step(c);
    case State::Key:
      if (!lexer_.take(':')) return refuse();
      state_ = State::Colon;
      return true;
    case State::MemberValue:
    case State::Element: return delimiter_step(c);
    case State::Finish: break;
  }
  return true;
}

bool Reader::value_step(char c) {
  switch (c) {
    case '[': return open(JsonKind::Array);
    case '{': return open(JsonKind::Object);
    case ']':
      if (state_ != State::ArrayOpen) return refuse();
      close();
      return true;
    case '}':
    case ',':
    case ':': return refuse();
    default:
      if (!scalar(c)) return false;
      state_ = after_value();
      return true;
  }
}

bool Reader::key_step(char c) {
  if (c == '}' && state_ == State::ObjectOpen) {
    close();
    return true;
  }
  if (c != '"') return refuse();
  state_ = State::Key;
  return lexer_.string(key_);
}

bool Reader::delimiter_step(char c) {
  const bool array = state_ == State::Element;
  if (c == ',') {
    lexer_.skip();
    state_ = array ? State::ElementComma : State::MemberComma;
    return true;
  }
  if (c != (array ? ']' : '}')) return refuse();
  close();
  return true;
}

bool Reader::scalar(char c) {
  const size_t begin = lexer_.position();
  JsonKind kind = JsonKind::Number;
  std::string_view text;
  JsonNumber number;
  bool ok = false;
  if (c == 'n') {
    kind = JsonKind::Null;
    ok = lexer_.word("null");
  } else if (c == 't') {
    kind = JsonKind::True;
    ok = lexer_.word("true");
  } else if (c == 'f') {
    kind = JsonKind::False;
    ok = lexer_.word("false");
  } else if (c == '"') {
    kind = JsonKind::String;
    ok = lexer_.string(text);
  } else {
    ok = lexer_.number(number);
  }
  if (!ok) return false;
  if (JsonNode* node = add(kind, begin)) {
    node->text = text;
    node->number = number;
  }
  return true;
}

// Adds a value's node, linked after its parent's last child. `end` is the reader's position, which
// is right for scalars; close() corrects it for containers.
JsonNode* Reader::add(JsonKind kind, size_t begin) {
  if (document_ == nullptr) return nullptr;
  std::vector<JsonNode>& nodes = document_->nodes;
  const auto index = static_cast<uint32_t>(nodes.size());
  if (!open_.empty()) {
    Open& parent = open_.back();
    JsonNode& node = nodes[parent.node];
    ++node.children;
    if (parent.last_child == 0) {
      node.first_child = index;
    } else {
      nodes[parent.last_child].next = index;
    }
    parent.last_child = index;
  }
  JsonNode& node = nodes.emplace_back();
  node.kind = kind;
  node.begin = begin;
  node.end = lexer_.position();
  node.key = key_;
  key_ = {};
  return &node;
}

bool Reader::open(JsonKind kind) {
  const size_t begin = lexer_.position();
  if (open_.size() == rules_.depth_max) return lexer_.fail(kTooDeep, begin);
  Open opened{kind};
  if (JsonNode* node = add(kind, begin)) {
    opened.node = static_cast<uint32_t>(node - document_->nodes.data());
  }
  open_.push_back(opened);
  lexer_.skip();
  state_ = kind == JsonKind::Array ? State::ArrayOpen : State::ObjectOpen;
  return true;
}

void Reader::close() {
  lexer_.skip();
  if (document_ != nullptr) document_->nodes[open_.back().node].end = lexer_.position();
  open_.pop_back();
  state_ = after_value();
}

}  // namespace

std::string_view json_kind_name(JsonKind kind) {
  switch (kind) {
    case JsonKind::Null: return "Null";
    case JsonKind::True: return "True";
    case JsonKind::False: return "False";
    case JsonKind::Number: return "Number";
    case JsonKind::String: return "String";
    case JsonKind::Object: return "Object";
    case JsonKind::Array: return "Array";
  }
  return "Null";
}

const JsonNode* JsonDocument::member(const JsonNode& object, std::string_view name) const {
  for (const JsonNode* node = child(object); node != nullptr; node = sibling(*node)) {
    if (node->key == name) return node;
  }
  return nullptr;
}

Status parse_json(std::string_view text, Arena& arena, const JsonRules& rules, JsonDocument* out) {
  return Reader(text, arena, rules, out).read();
}

}  // namespace serval
