// Converts a plan's trees to the traversed form: checks them and orders each tree's nodes by level.
// Load thread.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tabular/forest/forest.h"

namespace serval::tabular {
namespace {

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();  // no value is <= it

// The bound for which value <= bound equals value < threshold.
double below(double threshold) {
  if (threshold == -std::numeric_limits<double>::infinity()) return kNever;
  return std::nextafter(threshold, -std::numeric_limits<double>::infinity());
}

bool agrees(std::span<const int32_t> optional, size_t count) {
  return optional.empty() || optional.size() == count;
}

std::string of_node(size_t number, const std::string& what) {
  return "node " + std::to_string(number) + ": " + what;
}

bool in_range(std::span<const int32_t> values, int32_t end) {
  return std::all_of(values.begin(), values.end(),
                     [end](int32_t value) { return value >= 0 && value < end; });
}

// Whether a threshold names one of `sets`.
bool is_set(double threshold, size_t sets) {
  return threshold >= 0 && threshold < static_cast<double>(sets) &&
         threshold == std::floor(threshold);
}

}  // namespace

// Nodes of one tree that have a position, level by level.
struct Forest::Placing {
  struct Place {
    int32_t from;  // a node, or ~leaf
    uint32_t to;
  };
  std::vector<Place> level, next;
  std::vector<bool> used;  // by the plan's node
  std::string fault;
};

std::string Forest::check(const TreeNodes& from) const {
  const size_t count = from.feature.size();
  if (from.left.size() != count || from.right.size() != count || from.threshold.size() != count ||
      !agrees(from.test, count) || !agrees(from.missing, count)) {
    return "the lists of nodes have different lengths";
  }
  if (from.roots.empty()) return "there are no trees";
  if (from.leaf_count == 0) return "there are no leaves";
  if (!in_range(from.test, 5)) return "a node's test is not known";
  if (!in_range(from.missing, 3)) return "a node's handling of missing values is not known";
  const auto& offsets = from.set_offsets;
  if (!offsets.empty() && (offsets[0] != 0 || !std::is_sorted(offsets.begin(), offsets.end()) ||
                           static_cast<size_t>(offsets.back()) != from.set_members.size())) {
    return "the sets are not contiguous";
  }
  if (!in_range(from.set_members, 1 << 24)) return "a set has a member that is not a category";
  const size_t sets = offsets.empty() ? 0 : offsets.size() - 1;
  for (size_t i = 0; i < count; ++i) {
    const auto feature = static_cast<uint32_t>(from.feature[i]);
    if (from.feature[i] < 0 || (from.feature_count > 0 && feature >= from.feature_count)) {
      return of_node(i, "feature " + std::to_string(from.feature[i]) + " does not exist");
    }
    const bool in_set = !from.test.empty() && from.test[i] == static_cast<int32_t>(TreeTest::InSet);
    if (in_set && !is_set(from.threshold[i], sets)) return of_node(i, "its set does not exist");
  }
  return {};
}

// Whether -infinity can stand for missing values that go left. Not if a node tests for other than
// `<=`, has no branch for them, or goes right for -infinity.
bool Forest::has_lowest_slots(const TreeNodes& from) const {
  if (from.missing.empty()) return false;
  bool any = false;
  for (size_t i = 0; i < from.missing.size(); ++i) {
    const auto missing = static_cast<TreeMissing>(from.missing[i]);
    const auto test =
        from.test.empty() ? TreeTest::LessOrEqual : static_cast<TreeTest>(from.test[i]);
    const bool is_less = test == TreeTest::Less;
    const double bound = is_less ? below(from.threshold[i]) : from.threshold[i];
    if (missing == TreeMissing::NoAnswer || (!is_less && test != TreeTest::LessOrEqual) ||
        std::isnan(bound)) {
      return false;
    }
    any = any || missing == TreeMissing::Left;
  }
  return any;
}

void Forest::number_features(const TreeNodes& from) {
  const bool doubled = has_lowest_slots(from);
  const uint32_t kinds = doubled ? 2 : 1;
  const auto place_of = [&](size_t node) {
    const auto feature = static_cast<size_t>(from.feature[node]);
    const bool left = doubled && static_cast<TreeMissing>(from.missing[node]) == TreeMissing::Left;
    return feature * kinds + (left ? 1 : 0);
  };
  for (size_t i = 0; i < from.feature.size(); ++i) {
    const size_t place = place_of(i);
    if (place >= slots_.size()) slots_.resize(place + 1, 0);
    slots_[place] = 1;
  }
  for (size_t place = 0; place < slots_.size(); ++place) {
    if (slots_[place] == 0) continue;
    slots_[place] = static_cast<uint32_t>(features_.size());
    features_.push_back(static_cast<uint32_t>(place / kinds));
    if (doubled) lowest_.push_back(place % kinds != 0);
  }
}

void Forest::read_sets(const TreeNodes& from) {
  for (size_t i = 0; i + 1 < from.set_offsets.size(); ++i) {
    const auto members = from.set_members.subspan(
        static_cast<size_t>(from.set_offsets[i]),
        static_cast<size_t>(from.set_offsets[i + 1] - from.set_offsets[i]));
    Set set{static_cast<uint32_t>(set_words_.size()), 0};
    for (const int32_t member : members) {
      const auto bit = static_cast<uint32_t>(member);
      set.bits = std::max(set.bits, bit + 1);
      set_words_.resize(std::max(set_words_.size(), set.first + size_t{bit / 64} + 1));
      set_words_[set.first + bit / 64] |= uint64_t{1} << (bit % 64);
    }
    sets_.push_back(set);
  }
}

Forest::Node Forest::inner(const TreeNodes& from, size_t number, uint32_t left) {
  const auto feature = static_cast<size_t>(from.feature[number]);
  const auto test =
      from.test.empty() ? TreeTest::LessOrEqual : static_cast<TreeTest>(from.test[number]);
  const auto missing =
      from.missing.empty() ? TreeMissing::Right : static_cast<TreeMissing>(from.missing[number]);
  const bool goes_left = missing == TreeMissing::Left || test == TreeTest::IsMissing;
  const size_t place = lowest_.empty() ? feature : 2 * feature + (goes_left ? 1 : 0);
  Node made{from.threshold[number], slots_[place], left};
  if (goes_left && lowest_.empty()) made.feature |= kMissingLeft;
  else if (missing == TreeMissing::NoAnswer) made.feature |= kMissingNone;
  may_stay_ = may_stay_ || (made.feature & kMissingNone) != 0;
  switch (test) {
    case TreeTest::LessOrEqual: break;
    case TreeTest::Less: made.threshold = below(made.threshold); break;
    case TreeTest::Equal: made.feature |= kEqual; break;
    case TreeTest::InSet:
      made.feature |= kInSet;
      made.threshold = std::bit_cast<double>(sets_[static_cast<size_t>(made.threshold)]);
      break;
    case TreeTest::IsMissing: made.threshold = kNever; break;
  }
  Mode needed = Mode::Plain;
  if ((made.feature & (kEqual | kInSet)) != 0) needed = Mode::General;
  else if ((made.feature & kMissingNone) != 0) needed = Mode::Staying;
  else if ((made.feature & kMissingLeft) != 0) needed = Mode::Directed;
  mode_ = std::max(mode_, needed);
  return made;
}

// Places one level, and reserves space for the next one.
void Forest::place(const TreeNodes& from, Placing& placing) {
  placing.next.clear();
  for (const Placing::Place& one : placing.level) {
    if (one.from < 0) {
      const auto leaf = static_cast<size_t>(~one.from);
      if (leaf >= from.leaf_count) {
        placing.fault = "leaf " + std::to_string(leaf) + " does not exist";
        return;
      }
      const auto zero = static_cast<uint32_t>(features_.size());
      nodes_[one.to] = {static_cast<double>(leaf), zero | kLeaf, one.to};
      continue;
    }
    const auto number = static_cast<size_t>(one.from);
    if (number >= from.feature.size() || placing.used[number]) {
      placing.fault = of_node(number, "does not exist, or has two parents");
      return;
    }
    placing.used[number] = true;
    const auto left = static_cast<uint32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + 2);
    nodes_[one.to] = inner(from, number, left);
    placing.next.push_back({from.left[number], left});
    placing.next.push_back({from.right[number], left + 1});
  }
  placing.level.swap(placing.next);
}

std::string Forest::build(const TreeNodes& from) {
  if (std::string fault = check(from); !fault.empty()) return fault;
  number_features(from);
  read_sets(from);
  if (features_.size() >= kSlotMask) return "there are too many features";
  if (from.feature.size() + from.leaf_count + from.roots.size() > (size_t{1} << 31)) {
    return "there are too many nodes";
  }
  nodes_.reserve(2 * from.feature.size() + from.roots.size());
  Placing placing;
  placing.used.assign(from.feature.size(), false);
  for (const int32_t root : from.roots) {
    const auto to = static_cast<uint32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + 1);
    roots_.push_back(to);
    placing.level = {{root, to}};
    uint32_t depth = 0;
    for (;; ++depth) {
      place(from, placing);
      if (!placing.fault.empty()) return std::move(placing.fault);
      if (placing.level.empty()) break;
    }
    depths_.push_back(depth);
  }
  // Only traversals that check flags may meet flags.
  if (mode_ == Mode::Plain) {
    for (Node& node : nodes_) node.feature &= kSlotMask;
  }
  return {};
}

}  // namespace serval::tabular
