// Grapheme clusters as Java 17 cuts text into them: \X and \b{g}. Hot path; any thread.
// Source: Unicode Standard Annex 29, extended grapheme clusters.
#include <algorithm>

#include "base/unicode/letters.h"
#include "tabular/java/regex/unicode.h"

namespace serval::tabular::regex {
namespace {

// The values of kGraphemes.
enum BreakKind : int {
  kOther,
  kCr,
  kLf,
  kControl,
  kExtend,
  kJoiner,
  kRegional,
  kPrepend,
  kSpacingMark,
  kL,
  kV,
  kT,
  kLv,
  kLvt,
  kPictographic
};

BreakKind kind_of(uint32_t c) {
  const uint32_t* at = std::upper_bound(kGraphemes, kGraphemes + kGraphemesCount, c << 5 | 31);
  return static_cast<BreakKind>(*(at - 1) & 31);
}

// State of the cluster that is being read.
struct Cluster {
  BreakKind last = kOther;
  size_t regionals = 0;       // in a row, at its end
  bool pictographic = false;  // a pictograph and nothing but extenders after it
  bool joined = false;        // and a joiner last

  void start(BreakKind kind) {
    last = kind;
    regionals = kind == kRegional ? 1 : 0;
    pictographic = kind == kPictographic;
    joined = false;
  }

  void add(BreakKind kind) {
    joined = pictographic && kind == kJoiner;
    if (kind == kPictographic) pictographic = true;
    else if (kind != kExtend && kind != kJoiner) pictographic = false;
    regionals = kind == kRegional ? regionals + 1 : 0;
    last = kind;
  }

  bool takes(BreakKind next) const {
    if (last == kCr && next == kLf) return true;
    if (last == kCr || last == kLf || last == kControl) return false;
    if (next == kCr || next == kLf || next == kControl) return false;
    if (last == kL) {
      if (next == kL || next == kV || next == kLv || next == kLvt) return true;
    }
    if ((last == kLv || last == kV) && (next == kV || next == kT)) return true;
    if ((last == kLvt || last == kT) && next == kT) return true;
    if (next == kExtend || next == kJoiner || next == kSpacingMark || last == kPrepend) return true;
    if (joined && next == kPictographic) return true;
    return last == kRegional && next == kRegional && regionals % 2 == 1;
  }
};

}  // namespace

size_t grapheme_end(std::string_view text, size_t at) {
  if (at >= text.size()) return at;
  Cluster cluster;
  Character character = front_character(text.substr(at));
  cluster.start(kind_of(character.value));
  at += character.bytes;
  while (at < text.size()) {
    character = front_character(text.substr(at));
    const BreakKind next = kind_of(character.value);
    if (!cluster.takes(next)) break;
    cluster.add(next);
    at += character.bytes;
  }
  return at;
}

bool is_grapheme_boundary(std::string_view text, size_t at) {
  for (size_t from = 0; from < at;) {
    from = grapheme_end(text, from);
    if (from > at) return false;
  }
  return true;
}

}  // namespace serval::tabular::regex
