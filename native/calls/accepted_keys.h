// Credentials that were accepted, in the form in which they were sent: repeated use of one costs no
// digest. In memory only, bounded, wiped when they become invalid. Hot path for methods that need a
// credential; used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace serval {

// The same values as ACCEPTED_KEYS_MAX and ACCEPTED_KEY_CHARS_MAX of ts/base/limits.ts.
inline constexpr size_t kAcceptedKeysMax = 128;
inline constexpr size_t kAcceptedKeyBytesMax = 256;

class AcceptedKeys {
 public:
  AcceptedKeys() = default;
  AcceptedKeys(const AcceptedKeys&) = delete;
  AcceptedKeys& operator=(const AcceptedKeys&) = delete;
  ~AcceptedKeys() { clear(); }

  // The caller with the credential `text`, if that check accepted it. Compares every byte, wherever
  // the first difference is.
  std::optional<uint32_t> find(uint64_t check, std::string_view text) const;
  // Adds a credential that was verified. One that is too long is not kept. `caller`: its number in
  // the engine's CallerTable, 0 = a caller without limits.
  void add(uint64_t check, std::string_view text, uint32_t caller = 0);
  void clear();
  size_t size() const { return kept_.size(); }

 private:
  struct Accepted {
    uint64_t check = 0;
    std::string text;
    uint32_t caller = 0;
  };
  uint64_t mark_of(uint64_t check, std::string_view text) const;
  static void wipe(std::string& text);

  // by mark; of two with the same mark, the later one
  std::unordered_map<uint64_t, Accepted> kept_;
  uint64_t seed_ = 0;  // secret; 0: nothing was ever kept
};

}  // namespace serval
