// A backtracking matcher like Java's: it tries the first alternative, and the next one if that
// fails. Its backtracking positions are on an explicit stack, so that no text overflows the
// thread's stack; steps are limited, because some expressions take exponentially many. Hot path;
// any thread.
#include <algorithm>

#include "base/unicode/letters.h"
#include "tabular/java/regex/program.h"

namespace serval::tabular::regex {
namespace {

constexpr uint32_t kNoCharacter = 0xFFFFFFFF;

bool ends_line(uint32_t c) {
  return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029;
}

uint32_t lowered(uint32_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

class Searcher {
 public:
  Searcher(const Program& program, const Subject& subject, std::vector<size_t>& places)
      : program_(program), subject_(subject), text_(subject.text), places_(places) {
    slots_.assign(static_cast<size_t>(program.groups + 1) * 2, kNoPlace);
    loops_.resize(program.loops);
  }

  Found run() {
    for (size_t at = subject_.from; at <= text_.size(); at += bytes_at(at)) {
      std::fill(slots_.begin(), slots_.end(), kNoPlace);
      stack_.clear();
      size_t end = 0;
      const bool found = match(0, at, end, subject_.whole);
      if (too_long_) return Found::TooLong;
      if (found) {
        places_ = slots_;
        return Found::Yes;
      }
      if (subject_.whole) break;
    }
    return Found::No;
  }

 private:
  struct Loop {
    int count = 0;
    size_t begin = kNoPlace;
  };
  enum class Entry : uint8_t { Try, Slot, LoopState, Shrink, Grow };
  // Try: continue at step `number`, position `place`. Slot, LoopState: a value to restore. Shrink:
  // a greedy RepeatSet that ended at `place` gives back one character, down to `other`. Grow: a
  // lazy one, which matched `count` characters, matches one more.
  struct Back {
    Entry entry = Entry::Try;
    uint32_t number = 0;
    int count = 0;
    size_t place = 0, other = 0;
  };

  size_t bytes_at(size_t at) const {
    return at < text_.size() ? front_character(text_.substr(at)).bytes : 1;
  }
  uint32_t character_at(size_t at, size_t& bytes) const {
    if (at >= text_.size()) return kNoCharacter;
    const auto first = static_cast<unsigned char>(text_[at]);
    if (first < 0x80) {
      bytes = 1;
      return first;
    }
    const Character character = front_character(text_.substr(at));
    bytes = character.bytes;
    return character.value;
  }
  size_t before(size_t at) const {
    do --at;
    while (at > 0 && (static_cast<unsigned char>(text_[at]) & 0xC0) == 0x80);
    return at;
  }
  uint32_t character_before(size_t at) const {
    size_t bytes = 0;
    return at == 0 ? kNoCharacter : character_at(before(at), bytes);
  }

  void push(Back back) {
    if (stack_.size() >= kRegexPlacesMax) too_long_ = true;
    else stack_.push_back(back);
  }
  void save(uint32_t slot, size_t place) {
    push({Entry::Slot, slot, 0, slots_[slot], 0});
    slots_[slot] = place;
  }
  void set_loop(uint32_t number, Loop to) {
    push({Entry::LoopState, number, loops_[number].count, loops_[number].begin, 0});
    loops_[number] = to;
  }

  // Pops the next alternative from the stack above `base`. False: there is none.
  bool back(size_t base, uint32_t& pc, size_t& at) {
    while (stack_.size() > base) {
      Back& top = stack_.back();
      switch (top.entry) {
        case Entry::Slot: slots_[top.number] = top.place; break;
        case Entry::LoopState: loops_[top.number] = {top.count, top.place}; break;
        case Entry::Try:
          pc = top.number;
          at = top.place;
          stack_.pop_back();
          return true;
        case Entry::Shrink:
          top.place = before(top.place);
          pc = top.number;
          at = top.place;
          if (top.place == top.other) stack_.pop_back();
          return true;
        case Entry::Grow:
          if (grow(top, pc, at)) return true;
          break;
      }
      stack_.pop_back();
    }
    return false;
  }

  bool grow(Back& top, uint32_t& pc, size_t& at) {
    const Instruction& one = program_.code[top.number];
    size_t bytes = 0;
    const uint32_t c = character_at(top.place, bytes);
    if (top.count >= one.max || c == kNoCharacter || !program_.sets[one.a].has(c)) return false;
    top.place += bytes;
    ++top.count;
    pc = top.number + 1;
    at = top.place;
    return true;
  }

  // Puts slots and loops back to what they were at `base`; nothing above it is tried.
  void undo(size_t base) {
    for (; stack_.size() > base; stack_.pop_back()) {
      const Back& top = stack_.back();
      if (top.entry == Entry::Slot) slots_[top.number] = top.place;
      if (top.entry == Entry::LoopState) loops_[top.number] = {top.count, top.place};
    }
  }

  // Drops the alternatives above `base`; entries that restore values are kept.
  void commit(size_t base) {
    const auto drops = [](const Back& one) {
      return one.entry != Entry::Slot && one.entry != Entry::LoopState;
    };
    stack_.erase(std::remove_if(stack_.begin() + static_cast<ptrdiff_t>(base), stack_.end(), drops),
                 stack_.end());
  }

  // Runs from step `pc` to an Accept. `end`: the position where it ended. On true, the stack has
  // the remaining alternatives above its former top.
  bool match(uint32_t pc, size_t at, size_t& end, bool whole, size_t target = kNoPlace) {
    const size_t base = stack_.size();
    for (;;) {
      if (++*subject_.steps > kRegexStepsMax) too_long_ = true;
      if (too_long_) return false;
      const Instruction& one = program_.code[pc];
      if (one.step == Step::Accept || one.step == Step::AcceptBehind) {
        const bool fits = one.step == Step::Accept ? !whole || at == text_.size() : at == target;
        if (fits) {
          end = at;
          return true;
        }
      } else if (step(one, pc, at)) {
        continue;
      }
      if (too_long_ || !back(base, pc, at)) return false;
    }
  }

  // Returns false if the match fails here; else `pc` and `at` are where it continues.
  bool step(const Instruction& one, uint32_t& pc, size_t& at) {
    switch (one.step) {
      case Step::Set: {
        size_t bytes = 0;
        const uint32_t c = character_at(at, bytes);
        if (c == kNoCharacter || !program_.sets[one.a].has(c)) return false;
        at += bytes;
        break;
      }
      case Step::RepeatSet: return repeat_set(one, pc, at);
      case Step::Split:
        push({Entry::Try, one.b, 0, at, 0});
        pc = one.a;
        return true;
      case Step::Jump: pc = one.a; return true;
      case Step::Save: save(one.a, at); break;
      case Step::LoopInit: set_loop(one.a, {}); break;
      case Step::LoopTest: loop_test(one, pc, at); return true;
      case Step::LoopEnter: set_loop(one.a, {loops_[one.a].count + 1, at}); break;
      case Step::Look:
      case Step::Behind:
      case Step::Atomic: return inner(one, pc, at);
      case Step::Back:
        if (!back_reference(one, at)) return false;
        break;
      case Step::Grapheme:
        if (at >= text_.size()) return false;
        at = grapheme_end(text_, at);
        break;
      default:
        if (!is_edge(one, at)) return false;
    }
    ++pc;
    return true;
  }

  bool repeat_set(const Instruction& one, uint32_t& pc, size_t& at) {
    const Set& set = program_.sets[one.a];
    const int most = one.mode == Mode::Lazy ? one.min : one.max;
    size_t least = at;
    int count = 0;
    for (; count < most; ++count) {
      if (count == one.min) least = at;
      size_t bytes = 0;
      const uint32_t c = character_at(at, bytes);
      if (c == kNoCharacter || !set.has(c)) break;
      at += bytes;
      ++*subject_.steps;
    }
    if (count < one.min) return false;
    if (count == one.min) least = at;
    if (one.mode == Mode::Lazy) push({Entry::Grow, pc, count, at, 0});
    else if (one.mode == Mode::Greedy && at > least) push({Entry::Shrink, pc + 1, 0, at, least});
    ++pc;
    return true;
  }

  // An iteration that consumed nothing is the last one.
  void loop_test(const Instruction& one, uint32_t& pc, size_t at) {
    const Loop& loop = loops_[one.a];
    if (loop.begin == at) {
      pc = one.c;
    } else if (loop.count < one.min) {
      pc = one.b;
    } else if (loop.count >= one.max) {
      pc = one.c;
    } else if (one.mode == Mode::Lazy) {
      push({Entry::Try, one.b, 0, at, 0});
      pc = one.c;
    } else {
      push({Entry::Try, one.c, 0, at, 0});
      pc = one.b;
    }
  }

  bool inner(const Instruction& one, uint32_t& pc, size_t& at) {
    const size_t base = stack_.size();
    size_t end = at;
    const uint32_t first = pc + 1;
    const bool found =
        one.step == Step::Behind ? behind(one, first, at) : match(first, at, end, false);
    if (too_long_) return false;
    pc = one.a;
    if (one.step == Step::Atomic) at = end;
    if (found && one.negated) undo(base);
    else if (found) commit(base);
    return found != one.negated;
  }

  // Searches from the nearest position on.
  bool behind(const Instruction& one, uint32_t first, size_t at) {
    size_t from = at;
    for (int count = 0; count <= one.max; ++count) {
      size_t end = 0;
      if (count >= one.min && match(first, from, end, false, at)) return true;
      if (from == 0 || too_long_) return false;
      from = before(from);
    }
    return false;
  }

  bool back_reference(const Instruction& one, size_t& at) {
    if (one.a > static_cast<uint32_t>(program_.groups)) return false;
    const size_t begin = slots_[one.a * 2], end = slots_[one.a * 2 + 1];
    if (begin == kNoPlace || end == kNoPlace || end < begin) return false;
    size_t place = at;
    for (size_t i = begin; i < end;) {
      size_t bytes = 0, other = 0;
      const uint32_t a = character_at(i, bytes), b = character_at(place, other);
      if (b == kNoCharacter) return false;
      const bool same = a == b || (one.fold == Fold::Ascii && lowered(a) == lowered(b)) ||
                        (one.fold == Fold::Unicode && folded(a) == folded(b));
      if (!same) return false;
      i += bytes;
      place += other;
      ++*subject_.steps;
    }
    at = place;
    return true;
  }

  bool is_edge(const Instruction& one, size_t at) const {
    switch (one.step) {
      case Step::Begin: return at == 0;
      case Step::End: return at == text_.size();
      case Step::LastEnd: return at == subject_.last_end;
      case Step::Caret: return is_caret(one, at);
      case Step::Dollar: return is_dollar(one, at);
      case Step::WordEdge: return is_word_edge(one, at) != one.negated;
      case Step::GraphemeEdge: return is_grapheme_boundary(text_, at);
      default: return false;
    }
  }

  bool is_caret(const Instruction& one, size_t at) const {
    if (at == text_.size()) return false;
    if (at == 0) return true;
    const uint32_t c = character_before(at);
    if (one.unix_lines) return c == '\n';
    return ends_line(c) && !(c == '\r' && text_[at] == '\n');
  }

  bool is_dollar(const Instruction& one, size_t at) const {
    if (at == text_.size()) return true;
    size_t bytes = 0;
    const uint32_t c = character_at(at, bytes);
    if (one.unix_lines) return c == '\n' && (one.multi_line || at + 1 == text_.size());
    if (!ends_line(c)) return false;
    if (c == '\n' && at > 0 && text_[at - 1] == '\r') return false;
    if (one.multi_line || at + bytes == text_.size()) return true;
    return c == '\r' && text_.substr(at) == "\r\n";
  }

  // Java up to 18: letters and digits of all scripts, and marks on them.
  bool is_word(uint32_t c, bool unicode, size_t at) const {
    if (c == kNoCharacter) return false;
    if (unicode) {
      static const Set words = *named_set("U:w");
      if (words.has(c)) return true;
    } else if (c < 0x80) {
      return c == '_' || (c >= '0' && c <= '9') || (lowered(c) >= 'a' && lowered(c) <= 'z');
    } else if (is_letter_or_digit(c)) {
      return true;
    }
    if (category(c) != kNonSpacingMark) return false;
    for (size_t place = at;;) {
      size_t bytes = 0;
      const uint32_t base = character_at(place, bytes);
      if (is_letter_or_digit(base)) return true;
      if (category(base) != kNonSpacingMark || place == 0) return false;
      place = before(place);
    }
  }

  bool is_word_edge(const Instruction& one, size_t at) const {
    size_t bytes = 0;
    const uint32_t right = character_at(at, bytes);
    const bool left = at > 0 && is_word(character_before(at), one.unicode, before(at));
    return left != is_word(right, one.unicode, at);
  }

  const Program& program_;
  const Subject& subject_;
  const std::string_view text_;
  std::vector<size_t>& places_;
  std::vector<size_t> slots_;
  std::vector<Loop> loops_;
  std::vector<Back> stack_;
  bool too_long_ = false;
};

}  // namespace

Found search(const Program& program, const Subject& subject, std::vector<size_t>& places) {
  return Searcher(program, subject, places).run();
}

}  // namespace serval::tabular::regex
