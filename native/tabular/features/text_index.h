// Indices of texts: labels and vocabularies. Made at load; lookup is on the hot path, pure, any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tabular/strings.h"
#include "tabular/types.h"

namespace serval::tabular {

class TextIndex {
 public:
  TextIndex() = default;
  // texts[i] has index i; a duplicate has the index of its last occurrence.
  explicit TextIndex(std::span<const TextId> texts);
  // -1: not found.
  int32_t operator[](TextId text) const {
    const auto at = static_cast<size_t>(static_cast<int64_t>(text) - first_);
    if (!dense_.empty()) return text >= first_ && at < dense_.size() ? dense_[at] : -1;
    return search(text);
  }
  bool has_duplicates() const { return has_duplicates_; }

 private:
  struct Entry {
    TextId text;
    int32_t index;
  };
  int32_t search(TextId text) const;

  TextId first_ = 0;
  std::vector<int32_t> dense_;  // by text, if their ids are close together
  std::vector<Entry> entries_;  // otherwise
  bool has_duplicates_ = false;
};

}  // namespace serval::tabular
