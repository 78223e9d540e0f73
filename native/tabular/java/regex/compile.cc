// From a tree to steps: see program.h. Load thread.
#include "tabular/java/regex/program.h"

namespace serval::tabular::regex {
namespace {

class Compiler {
 public:
  Result<Program> run(const Tree& tree) {
    made_.groups = tree.groups;
    emit(Step::Save).a = 0;
    add(*tree.root);
    emit(Step::Save).a = 1;
    emit(Step::Accept);
    if (made_.code.size() <= kProgramStepsMax) return std::move(made_);
    return make_error(ErrorCode::ModelInvalid, "it has too many parts");
  }

 private:
  uint32_t here() const { return static_cast<uint32_t>(made_.code.size()); }
  Instruction& emit(Step step) {
    made_.code.emplace_back().step = step;
    return made_.code.back();
  }
  uint32_t set_of(const Set& set) {
    made_.sets.push_back(set);
    return static_cast<uint32_t>(made_.sets.size() - 1);
  }

  void add(const Node& node) {
    switch (node.kind) {
      case Kind::Empty: return;
      case Kind::Set: emit(Step::Set).a = set_of(node.set); return;
      case Kind::Sequence:
        for (const NodePtr& part : node.parts) add(*part);
        return;
      case Kind::Choice: return choice(node);
      case Kind::Group: return group(node);
      case Kind::Repeat: return repeat(node);
      case Kind::Atomic: return inner(Step::Atomic, *node.parts[0]);
      case Kind::Look: return look(node);
      case Kind::Back: {
        Instruction& one = emit(Step::Back);
        one.a = static_cast<uint32_t>(node.group);
        one.fold = node.fold;
        return;
      }
      case Kind::Begin: emit(Step::Begin); return;
      case Kind::End: emit(Step::End); return;
      case Kind::LastEnd: emit(Step::LastEnd); return;
      case Kind::Caret: return edge(Step::Caret, node);
      case Kind::Dollar: return edge(Step::Dollar, node);
      case Kind::WordEdge: return edge(Step::WordEdge, node);
      case Kind::Grapheme: emit(Step::Grapheme); return;
      case Kind::GraphemeEdge: emit(Step::GraphemeEdge); return;
    }
  }

  void edge(Step step, const Node& node) {
    Instruction& one = emit(step);
    one.multi_line = node.multi_line;
    one.unix_lines = node.unix_lines;
    one.negated = node.negated;
    one.unicode = node.unicode;
  }

  void choice(const Node& node) {
    std::vector<uint32_t> ends;
    for (size_t i = 0; i < node.parts.size(); ++i) {
      const bool last = i + 1 == node.parts.size();
      const uint32_t split = here();
      if (!last) emit(Step::Split).a = split + 1;
      add(*node.parts[i]);
      if (last) break;
      ends.push_back(here());
      emit(Step::Jump);
      made_.code[split].b = here();
    }
    for (const uint32_t end : ends) made_.code[end].a = here();
  }

  void group(const Node& node) {
    const auto slot = static_cast<uint32_t>(node.group) * 2;
    if (slot != 0) emit(Step::Save).a = slot;
    add(*node.parts[0]);
    if (slot != 0) emit(Step::Save).a = slot + 1;
  }

  // Steps that are run by themselves.
  void inner(Step step, const Node& node, Step accept = Step::Accept) {
    const uint32_t at = here();
    emit(step);
    add(node);
    emit(accept);
    made_.code[at].a = here();
  }

  void look(const Node& node) {
    const Step step = node.behind ? Step::Behind : Step::Look;
    const uint32_t at = here();
    inner(step, *node.parts[0], node.behind ? Step::AcceptBehind : Step::Accept);
    const Length length = length_of(*node.parts[0]);
    Instruction& one = made_.code[at];
    one.negated = node.negated;
    one.min = length.min;
    one.max = length.max;
  }

  void repeat(const Node& node) {
    const Node& of = *node.parts[0];
    if (of.kind == Kind::Set) {
      const uint32_t set = set_of(of.set);
      Instruction& one = emit(Step::RepeatSet);
      one.a = set;
      one.min = node.min;
      one.max = node.max;
      one.mode = node.mode;
      return;
    }
    const bool possessive = node.mode == Mode::Possessive;
    const uint32_t atomic = here();
    if (possessive) emit(Step::Atomic);
    if (node.min == 0 && node.max == 1) optional(node, of);
    else loop(node, of);
    if (!possessive) return;
    emit(Step::Accept);
    made_.code[atomic].a = here();
  }

  void optional(const Node& node, const Node& of) {
    const uint32_t split = here();
    emit(Step::Split);
    add(of);
    Instruction& one = made_.code[split];
    const uint32_t body = split + 1, behind = here();
    one.a = node.mode == Mode::Lazy ? behind : body;
    one.b = node.mode == Mode::Lazy ? body : behind;
  }

  void loop(const Node& node, const Node& of) {
    const uint32_t loop = made_.loops++;
    emit(Step::LoopInit).a = loop;
    const uint32_t test = here();
    Instruction& one = emit(Step::LoopTest);
    one.a = loop;
    one.b = test + 1;
    one.min = node.min;
    one.max = node.max;
    one.mode = node.mode;
    emit(Step::LoopEnter).a = loop;
    add(of);
    emit(Step::Jump).a = test;
    made_.code[test].c = here();
  }

  Program made_;
};

}  // namespace

Result<Program> compile(const Tree& tree) { return Compiler().run(tree); }

}  // namespace serval::tabular::regex
