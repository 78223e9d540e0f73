// Interned text: comparisons of strings are comparisons of integers. Ids below Dictionary::size()
// are the plan's own texts, the others those of one frame. Hot path; threads stand at each class.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "tabular/types.h"

namespace serval::tabular {

// Texts by number, and numbers by text: what both below are made of. Its hash has a seed of the
// process, so that no request can choose texts that collide.
class TextTable {
 public:
  static uint64_t hash_of(std::string_view text);
  // The text's number, or -1.
  TextId find(std::string_view text, uint64_t hash) const;
  // Copies the text, which is not there yet.
  TextId add(std::string_view text, uint64_t hash);
  std::string_view text(TextId number) const { return texts_[static_cast<size_t>(number)]; }
  TextId size() const { return static_cast<TextId>(texts_.size()); }
  // Keeps what memory a usual request needs.
  void clear();

 private:
  struct Slot {
    uint32_t hash = 0;
    TextId number = -1;  // -1: free
  };
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };
  const char* keep(std::string_view text);
  void grow();

  std::vector<Slot> slots_;  // a power of two of them, at most half of them taken
  std::vector<std::string_view> texts_;
  std::vector<uint32_t> slot_of_;  // by number
  std::vector<Block> blocks_;
  size_t block_ = 0, used_ = 0;  // the block that is being filled, and how far
};

// The texts of a plan. Filled while its stages are made, then immutable: any thread.
class Dictionary {
 public:
  TextId add(std::string_view text);
  TextId find(std::string_view text) const;  // -1: not there
  std::string_view text(TextId id) const { return table_.text(id); }
  TextId size() const { return table_.size(); }

 private:
  friend class Strings;
  TextTable table_;
};

// The texts of one frame. One thread at a time. Keeps its memory when cleared. The dictionary is
// complete by then.
class Strings {
 public:
  explicit Strings(const Dictionary& dictionary) : dictionary_(dictionary) {}
  // Copies what is new.
  TextId intern(std::string_view text);
  std::string_view text(TextId id) const {
    const TextId known = dictionary_.size();
    return id < known ? dictionary_.text(id) : own_.text(id - known);
  }
  // Rows without a value have ids that may be none.
  bool has(TextId id) const { return id < dictionary_.size() + own_.size(); }
  void clear() { own_.clear(); }

 private:
  const Dictionary& dictionary_;
  TextTable own_;
};

}  // namespace serval::tabular
