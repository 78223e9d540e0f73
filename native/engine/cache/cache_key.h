// The key of a request in the response cache: everything that its outputs depend on. Hot path
// (models with a response cache); one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codec/request.h"
#include "engine/cache/keyed_hash.h"

namespace serval {

// Whether the outputs of a request may be cached: no tensor of it is in shared memory, which a
// client can change while the request runs, or in GPU memory.
inline bool is_cacheable(const DecodedRequest& decoded) {
  return decoded.shared.empty() && decoded.places.empty() &&
         std::ranges::all_of(decoded.inputs,
                             [](const TensorView& input) { return input.device == nullptr; });
}

// Working memory, reused from request to request.
class KeyMaker {
 public:
  // Returns the key of a decoded request of the loaded model number `owner`: its signature, the
  // wanted outputs and the inputs. The protocol, the id and the form of the outputs are no part of
  // it. Throws std::bad_alloc.
  CacheKey operator()(const KeyedHash& hash, uint64_t owner, const DecodedRequest& decoded);

 private:
  void add_tensor(const KeyedHash& hash, const TensorView& tensor);
  void add_digest(const KeyedHash& hash, const void* bytes, size_t count);
  void add_text(const KeyedHash& hash, std::span<const std::string_view> texts);

  std::vector<uint64_t> words_;
  std::vector<uint8_t> text_;
};

}  // namespace serval
