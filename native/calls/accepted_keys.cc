// Implements the cache of accepted credentials. Hot path for methods that need a credential.
#include "calls/accepted_keys.h"

#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace serval {

namespace {

constexpr uint64_t kStep = 0x9fb21c651e98df25ull;  // odd, half of its bits set

uint64_t mixed(uint64_t mark, uint64_t bytes) {
  mark = (mark ^ bytes) * kStep;
  return mark ^ (mark >> 29);
}

uint64_t new_seed() {
  uint64_t seed = 0;
  // If no random number is available, the clock will do: it is no secret, but texts are compared in
  // full anyway.
  if (getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) seed = now_ns();
  return seed | 1;
}

}  // namespace

// Hashes the whole text with a secret number, so that the time of a lookup says nothing about a
// stored text.
uint64_t AcceptedKeys::mark_of(uint64_t check, std::string_view text) const {
  uint64_t mark = mixed(seed_ ^ text.size(), check);
  uint64_t bytes = 0;
  size_t at = 0;
  for (; at + sizeof bytes <= text.size(); at += sizeof bytes) {
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    mark = mixed(mark, bytes);
  }
  bytes = 0;
  std::memcpy(&bytes, text.data() + at, text.size() - at);
  return mixed(mark, bytes);
}

std::optional<uint32_t> AcceptedKeys::find(uint64_t check, std::string_view text) const {
  if (kept_.empty() || text.size() > kAcceptedKeyBytesMax) return std::nullopt;
  const auto found = kept_.find(mark_of(check, text));
  if (found == kept_.end() || found->second.text.size() != text.size()) {
    return std::nullopt;
  }
  const char* kept = found->second.text.data();
  unsigned different = found->second.check == check ? 0 : 1;
  for (size_t i = 0; i < text.size(); ++i) {
    different |= static_cast<unsigned char>(kept[i] ^ text[i]);
  }
  return different == 0 ? std::optional<uint32_t>(found->second.caller) : std::nullopt;
}

void AcceptedKeys::add(uint64_t check, std::string_view text, uint32_t caller) {
  if (text.empty() || text.size() > kAcceptedKeyBytesMax) return;
  if (seed_ == 0) seed_ = new_seed();
  const uint64_t mark = mark_of(check, text);
  if (kept_.size() >= kAcceptedKeysMax && !kept_.contains(mark)) {
    const auto other = kept_.begin();
    wipe(other->second.text);
    kept_.erase(other);
  }
  Accepted& one = kept_[mark];
  wipe(one.text);
  one = {check, std::string(text), caller};
}

void AcceptedKeys::clear() {
  for (auto& [mark, one] : kept_) wipe(one.text);
  kept_.clear();
}

void AcceptedKeys::wipe(std::string& text) { explicit_bzero(text.data(), text.size()); }

}  // namespace serval
