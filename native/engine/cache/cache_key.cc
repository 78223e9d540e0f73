// Makes keys of requests. Hot path (models with a response cache).
#include "engine/cache/cache_key.h"

#include <cstring>

namespace serval {

namespace {

// Memory that one large request needed is released above this size.
constexpr size_t kTextKeepBytes = size_t{1} << 20;

}  // namespace

void KeyMaker::add_digest(const KeyedHash& hash, const void* bytes, size_t count) {
  words_.push_back(count);
  if (count == 0) return;
  const CacheKey digest = hash({static_cast<const uint8_t*>(bytes), count});
  words_.insert(words_.end(), digest.words.begin(), digest.words.end());
}

// The lengths, then the bytes of all texts.
void KeyMaker::add_text(const KeyedHash& hash, std::span<const std::string_view> texts) {
  size_t bytes = texts.size() * sizeof(uint64_t);
  for (const std::string_view text : texts) bytes += text.size();
  text_.resize(bytes);
  uint8_t* at = text_.data();
  for (const std::string_view text : texts) {
    const uint64_t size = text.size();
    std::memcpy(at, &size, sizeof size);
    at += sizeof size;
  }
  for (const std::string_view text : texts) {
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    at += text.size();
  }
  words_.push_back(texts.size());
  add_digest(hash, text_.data(), bytes);
}

void KeyMaker::add_tensor(const KeyedHash& hash, const TensorView& tensor) {
  words_.push_back(static_cast<uint64_t>(tensor.dtype) | uint64_t{tensor.precision} << 8 |
                   uint64_t{tensor.scale} << 16 | uint64_t{tensor.shape.rank()} << 24 |
                   uint64_t{tensor.states != nullptr} << 32 |
                   uint64_t{tensor.lengths != nullptr} << 33);
  for (const int64_t dim : tensor.shape.dims()) words_.push_back(static_cast<uint64_t>(dim));
  if (dtype_is_text(tensor.dtype)) add_text(hash, tensor.strings);
  else add_digest(hash, tensor.data, tensor.bytes);
  const size_t rows = tensor.shape.rank() == 0 ? 1 : static_cast<size_t>(tensor.shape[0]);
  if (tensor.states != nullptr) add_digest(hash, tensor.states, rows);
  if (tensor.lengths != nullptr) add_digest(hash, tensor.lengths, rows * sizeof(uint32_t));
}

CacheKey KeyMaker::operator()(const KeyedHash& hash, uint64_t owner,
                              const DecodedRequest& decoded) {
  words_.clear();
  words_.push_back(owner);
  words_.push_back(decoded.signature_index | uint64_t{decoded.table.null_for_invalid} << 32);
  words_.push_back(decoded.outputs.size());
  for (const RequestedOutput& output : decoded.outputs) words_.push_back(output.index);
  words_.push_back(decoded.left_out.size());
  for (const uint32_t field : decoded.left_out) words_.push_back(field);
  words_.push_back(decoded.inputs.size());
  for (const TensorView& input : decoded.inputs) add_tensor(hash, input);
  const CacheKey key =
      hash({reinterpret_cast<const uint8_t*>(words_.data()), words_.size() * sizeof(uint64_t)});
  if (text_.capacity() > kTextKeepBytes) std::vector<uint8_t>().swap(text_);
  return key;
}

}  // namespace serval
