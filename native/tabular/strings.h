// Interned text, so that comparing strings is comparing integers. Ids below Dictionary::size() are
// the plan's texts, the others belong to one frame. Hot path; each class names its thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "tabular/types.h"

namespace serval::tabular {

// Maps numbers to texts and texts to numbers, for both classes below. Its hash has a per-process
// seed, so that no request can choose colliding texts.
class TextPool {
 public:
  static uint64_t hash_of(std::string_view text);
  // The text's number, or -1.
  TextId find(std::string_view text, uint64_t hash) const;
  // Copies the text, which must not be in the table yet.
  TextId add(std::string_view text, uint64_t hash);
  std::string_view text(TextId number) const { return texts_[static_cast<size_t>(number)]; }
  TextId size() const { return static_cast<TextId>(texts_.size()); }
  // Clears the table but keeps the memory that a usual request needs.
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

  std::vector<Slot> slots_;  // the size is a power of two; at most half of the slots are used
  std::vector<std::string_view> texts_;
  std::vector<uint32_t> slot_of_;  // by number
  std::vector<Block> blocks_;
  size_t block_ = 0, used_ = 0;  // the block being filled, and its used bytes
};

// The texts of a plan. Filled while the stages are made, then immutable: any thread.
class Dictionary {
 public:
  TextId add(std::string_view text);
  TextId find(std::string_view text) const;  // -1: not found
  std::string_view text(TextId id) const { return table_.text(id); }
  TextId size() const { return table_.size(); }

 private:
  friend class Strings;
  TextPool table_;
};

// The texts of one frame. Used by one thread at a time. Keeps its memory when cleared. The
// dictionary must be complete.
class Strings {
 public:
  explicit Strings(const Dictionary& dictionary) : dictionary_(dictionary) {}
  // Copies new texts.
  TextId intern(std::string_view text);
  std::string_view text(TextId id) const {
    const TextId known = dictionary_.size();
    return id < known ? dictionary_.text(id) : own_.text(id - known);
  }
  // The ids of rows without a value may be invalid.
  bool has(TextId id) const { return id < dictionary_.size() + own_.size(); }
  void clear() { own_.clear(); }

 private:
  const Dictionary& dictionary_;
  TextPool own_;
};

}  // namespace serval::tabular
