// Building of the text index: a dense table or sorted entries.
#include "tabular/features/text_index.h"

#include <algorithm>

namespace serval::tabular {

TextIndex::TextIndex(std::span<const TextId> texts) {
  entries_.reserve(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    entries_.push_back({texts[i], static_cast<int32_t>(i)});
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.text < b.text; });
  size_t kept = 0;
  for (const Entry& entry : entries_) {
    if (kept > 0 && entries_[kept - 1].text == entry.text) --kept;
    entries_[kept++] = entry;
  }
  has_duplicates_ = kept != entries_.size();
  entries_.resize(kept);
  if (entries_.empty()) return;
  first_ = entries_.front().text;
  const auto width = static_cast<size_t>(entries_.back().text - first_) + 1;
  if (width > 4 * entries_.size() + 64) return;
  dense_.assign(width, -1);
  for (const Entry& entry : entries_) {
    dense_[static_cast<size_t>(entry.text - first_)] = entry.index;
  }
  entries_ = {};
}

int32_t TextIndex::search(TextId text) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), text,
                       [](const Entry& entry, TextId value) { return entry.text < value; });
  return found != entries_.end() && found->text == text ? found->index : -1;
}

}  // namespace serval::tabular
