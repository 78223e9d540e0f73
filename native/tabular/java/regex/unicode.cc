// Lookup in Java's character tables. Load thread; lookups of characters: hot path, any thread.
#include "tabular/java/regex/unicode.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace serval::tabular::regex {
namespace {

int run_value(const uint32_t* runs, size_t count, uint32_t c) {
  const uint32_t* at = std::upper_bound(runs, runs + count, c << 5 | 31);
  return static_cast<int>(*(at - 1) & 31);
}

uint32_t mapped(const CaseRange* ranges, size_t count, uint32_t c) {
  const CaseRange* at =
      std::upper_bound(ranges, ranges + count, c,
                       [](uint32_t one, const CaseRange& range) { return one < range.first; });
  // A range of stride 2 may contain the starts of other ranges.
  for (int back = 0; back < 3 && at != ranges; ++back) {
    --at;
    if (c <= at->last && (c - at->first) % at->stride == 0) {
      return static_cast<uint32_t>(static_cast<int32_t>(c) + at->delta);
    }
  }
  return c;
}

}  // namespace

Set Set::made(std::vector<Range> ranges) {
  Set made;
  made.ranges_ = std::move(ranges);
  for (const Range& range : made.ranges_) {
    for (uint32_t c = range.first; c <= range.last && c < 128; ++c) {
      made.ascii_[c >> 6] |= uint64_t{1} << (c & 63);
    }
  }
  return made;
}

Set Set::of(uint32_t first, uint32_t last) { return made({{first, last}}); }

Set Set::of(std::initializer_list<Range> ranges) {
  Set made;
  for (const Range& range : ranges) made.add(range.first, range.last);
  return made;
}

void Set::add(uint32_t first, uint32_t last) { *this = *this | of(first, last); }

bool Set::has_beyond(uint32_t c) const {
  const auto at =
      std::upper_bound(ranges_.begin(), ranges_.end(), c,
                       [](uint32_t one, const Range& range) { return one < range.first; });
  return at != ranges_.begin() && c <= std::prev(at)->last;
}

Set Set::operator|(const Set& other) const {
  std::vector<Range> all;
  all.reserve(ranges_.size() + other.ranges_.size());
  std::merge(ranges_.begin(), ranges_.end(), other.ranges_.begin(), other.ranges_.end(),
             std::back_inserter(all),
             [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> joined;
  for (const Range& range : all) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return made(std::move(joined));
}

Set Set::operator~() const {
  std::vector<Range> rest;
  uint32_t from = 0;
  for (const Range& range : ranges_) {
    if (range.first > from) rest.push_back({from, range.first - 1});
    from = range.last + 1;
  }
  if (from <= kCharacterMax) rest.push_back({from, kCharacterMax});
  return made(std::move(rest));
}

Set Set::operator&(const Set& other) const { return ~(~*this | ~other); }

std::optional<Set> named_set(std::string_view name) {
  const std::span<const NamedSet> sets(kNamedSets, kNamedSetCount);
  const auto at = std::ranges::lower_bound(
      sets, name, {}, [](const NamedSet& set) { return std::string_view(set.name); });
  if (at == sets.end() || at->name != name) return std::nullopt;
  std::vector<Range> rest, whole;
  const auto append = [](std::vector<Range>& to, uint32_t first, uint32_t last) {
    if (!to.empty() && to.back().last + 1 == first) to.back().last = last;
    else to.push_back({first, last});
  };
  for (size_t i = 0; i < at->count; ++i) {
    const Range& range = kNamedRanges[at->first + i];
    append(rest, range.first, range.last);
  }
  for (size_t i = 0; i < kCategoriesCount && at->categories != 0; ++i) {
    if ((at->categories >> (kCategories[i] & 31) & 1) == 0) continue;
    const bool last = i + 1 == kCategoriesCount;
    append(whole, kCategories[i] >> 5, last ? kCharacterMax : (kCategories[i + 1] >> 5) - 1);
  }
  return Set::made(std::move(rest)) | Set::made(std::move(whole));
}

uint32_t upper(uint32_t c) { return mapped(kUpper, kUpperCount, c); }
uint32_t lower(uint32_t c) { return mapped(kLower, kLowerCount, c); }
int category(uint32_t c) { return run_value(kCategories, kCategoriesCount, c); }

bool is_letter_or_digit(uint32_t c) {
  const int of = category(c);
  return (of >= 1 && of <= 5) || of == 9;  // Lu, Ll, Lt, Lm, Lo; Nd
}

}  // namespace serval::tabular::regex
