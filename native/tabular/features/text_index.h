// Numbers of texts: labels, vocabularies. Made at load; lookup: hot path, pure, any thread.
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
  // texts[i] is i; of a text that is there twice, the last one.
  explicit TextIndex(std::span<const TextId> texts);
  // -1: not there.
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
  std::vector<int32_t> dense_;  // by text, where they lie close together
  std::vector<Entry> entries_;  // else
  bool has_duplicates_ = false;
};

}  // namespace serval::tabular
