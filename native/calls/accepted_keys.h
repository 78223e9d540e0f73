// Credentials that were let in, as they were sent: who comes again with one costs no digest. In
// memory only, bounded, wiped when they count no more. Hot path where a method is locked; of one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace serval {

// As ACCEPTED_KEYS_MAX and ACCEPTED_KEY_CHARS_MAX of ts/base/limits.ts.
inline constexpr size_t kAcceptedKeysMax = 128;
inline constexpr size_t kAcceptedKeyBytesMax = 256;

class AcceptedKeys {
 public:
  AcceptedKeys() = default;
  AcceptedKeys(const AcceptedKeys&) = delete;
  AcceptedKeys& operator=(const AcceptedKeys&) = delete;
  ~AcceptedKeys() { clear(); }

  // Whether that check let `text` in. Every byte is looked at, wherever the first different one is.
  bool has(uint64_t check, std::string_view text) const;
  // Only of those that were found to be right. One that is too long is not kept.
  void add(uint64_t check, std::string_view text);
  void clear();
  size_t size() const { return kept_.size(); }

 private:
  struct Accepted {
    uint64_t check = 0;
    std::string text;
  };
  uint64_t mark_of(uint64_t check, std::string_view text) const;
  static void wipe(std::string& text);

  std::unordered_map<uint64_t, Accepted> kept_;  // by mark; two of one mark: the later one
  uint64_t seed_ = 0;                            // secret; 0: nothing was ever kept
};

}  // namespace serval
