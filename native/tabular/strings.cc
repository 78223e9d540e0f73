// Text tables of plans and frames. Hot path, any thread.
#include "tabular/strings.h"

#include <cstring>
#include <random>

namespace serval::tabular {
namespace {

constexpr size_t kBlockBytes = 16 * 1024;
constexpr size_t kSlotsAtFirst = 64;
// Memory that a frame keeps from run to run.
constexpr size_t kKeptBlocks = 16;
constexpr size_t kKeptTexts = 65'536;

uint64_t process_seed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return (uint64_t{device()} << 32) | device();
  }();
  return seed;
}

uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t word_at(const char* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

uint64_t TextPool::hash_of(std::string_view text) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15, kOther = 0xd6e8feb86659fd93;
  const uint64_t seed = process_seed();
  uint64_t hash = seed ^ (text.size() * kOdd);
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; left -= 8, at += 8) hash = mix(hash ^ word_at(at), kOther ^ seed);
  if (left > 0) {
    uint64_t tail = 0;
    std::memcpy(&tail, at, left);
    hash = mix(hash ^ tail, kOther ^ seed);
  }
  return mix(hash, kOdd);
}

TextId TextPool::find(std::string_view text, uint64_t hash) const {
  if (slots_.empty()) return -1;
  const size_t mask = slots_.size() - 1;
  const auto low = static_cast<uint32_t>(hash);
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.number < 0) return -1;
    if (slot.hash == low && texts_[static_cast<size_t>(slot.number)] == text) return slot.number;
  }
}

const char* TextPool::keep(std::string_view text) {
  while (block_ < blocks_.size() && blocks_[block_].size - used_ < text.size()) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {
    const size_t bytes = text.size() > kBlockBytes ? text.size() : kBlockBytes;
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(bytes), bytes});
    used_ = 0;
  }
  char* place = blocks_[block_].bytes.get() + used_;
  if (!text.empty()) std::memcpy(place, text.data(), text.size());
  used_ += text.size();
  return place;
}

void TextPool::grow() {
  const size_t count = slots_.empty() ? kSlotsAtFirst : slots_.size() * 2;
  std::vector<Slot> before = std::move(slots_);
  slots_.assign(count, Slot());
  const size_t mask = count - 1;
  for (TextId number = 0; number < size(); ++number) {
    const uint64_t hash = hash_of(texts_[static_cast<size_t>(number)]);
    size_t i = hash & mask;
    while (slots_[i].number >= 0) i = (i + 1) & mask;
    slots_[i] = {static_cast<uint32_t>(hash), number};
    slot_of_[static_cast<size_t>(number)] = static_cast<uint32_t>(i);
  }
}

TextId TextPool::add(std::string_view text, uint64_t hash) {
  if (texts_.size() * 2 >= slots_.size()) grow();
  const TextId number = size();
  texts_.emplace_back(keep(text), text.size());
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  while (slots_[i].number >= 0) i = (i + 1) & mask;
  slots_[i] = {static_cast<uint32_t>(hash), number};
  slot_of_.push_back(static_cast<uint32_t>(i));
  return number;
}

void TextPool::clear() {
  if (texts_.size() > kKeptTexts) {
    slots_ = {};
    texts_ = {};
    slot_of_ = {};
  } else {
    for (const uint32_t slot : slot_of_) slots_[slot] = Slot();
    texts_.clear();
    slot_of_.clear();
  }
  if (blocks_.size() > kKeptBlocks) blocks_.resize(kKeptBlocks);
  if (!blocks_.empty() && blocks_[0].size > kBlockBytes * kKeptBlocks) blocks_.clear();
  block_ = used_ = 0;
}

TextId Dictionary::add(std::string_view text) {
  const uint64_t hash = TextPool::hash_of(text);
  const TextId known = table_.find(text, hash);
  return known >= 0 ? known : table_.add(text, hash);
}

TextId Dictionary::find(std::string_view text) const {
  return table_.find(text, TextPool::hash_of(text));
}

TextId Strings::intern(std::string_view text) {
  const uint64_t hash = TextPool::hash_of(text);
  const TextId known = dictionary_.table_.find(text, hash);
  if (known >= 0) return known;
  const TextId own = own_.find(text, hash);
  return (own >= 0 ? own : own_.add(text, hash)) + dictionary_.size();
}

}  // namespace serval::tabular
