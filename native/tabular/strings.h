// Interned text: comparisons of strings are comparisons of integers. Ids below Dictionary::size()
// are the plan's own texts, the others those of one frame.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/buffer.h"
#include "tabular/types.h"

namespace serval::tabular {

// The texts of a plan. Filled while its stages are made, then immutable: any thread.
class Dictionary {
 public:
  TextId add(std::string_view text);
  TextId find(std::string_view text) const;  // -1: not there
  std::string_view text(TextId id) const;
  TextId size() const;

 private:
  std::unordered_map<std::string_view, TextId> ids_;
  std::vector<std::unique_ptr<std::string>> texts_;  // where they are for good
};

// The texts of one frame. One thread at a time. Keeps its memory when cleared.
class Strings {
 public:
  explicit Strings(const Dictionary& dictionary) : dictionary_(dictionary) {}
  // Copies what is new.
  TextId intern(std::string_view text);
  std::string_view text(TextId id) const;
  void clear();

 private:
  const Dictionary& dictionary_;
  // as core implements it
};

}  // namespace serval::tabular
