// Implements the hash functions. Hot path, any thread.
#include "operators/features/hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace serval::operators {
namespace {

constexpr uint64_t k0 = 0xc3a5c85c97cb3127u;
constexpr uint64_t k1 = 0xb492b66fbe98f273u;
constexpr uint64_t k2 = 0x9ae16a3b2f90404fu;

uint64_t load64(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

uint64_t load32(const char* at) {
  uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

uint64_t byte_at(const char* at) { return static_cast<uint8_t>(*at); }
uint64_t fold(uint64_t value) { return value ^ value >> 47; }
uint64_t rotated(uint64_t value, int bits) { return std::rotr(value, bits); }

uint64_t join(uint64_t first, uint64_t second, uint64_t factor) {
  const uint64_t a = fold((first ^ second) * factor);
  return fold((second ^ a) * factor) * factor;
}

uint64_t hash_to_16(const char* at, size_t length) {
  const uint64_t factor = k2 + length * 2;
  if (length >= 8) {
    const uint64_t a = load64(at) + k2, b = load64(at + length - 8);
    return join(rotated(b, 37) * factor + a, (rotated(a, 25) + b) * factor, factor);
  }
  if (length >= 4) return join(length + (load32(at) << 3), load32(at + length - 4), factor);
  if (length == 0) return k2;
  const uint64_t y = byte_at(at) + (byte_at(at + (length >> 1)) << 8);
  const uint64_t z = length + (byte_at(at + length - 1) << 2);
  return fold(y * k2 ^ z * k0) * k2;
}

uint64_t hash_to_32(const char* at, size_t length) {
  const uint64_t factor = k2 + length * 2;
  const uint64_t a = load64(at) * k1, b = load64(at + 8);
  const uint64_t c = load64(at + length - 8) * factor, d = load64(at + length - 16) * k2;
  return join(rotated(a + b, 43) + rotated(c, 30) + d, a + rotated(b + k2, 18) + c, factor);
}

uint64_t hash_to_64(const char* at, size_t length) {
  const uint64_t factor = k2 + length * 2;
  const uint64_t a = load64(at) * k2, b = load64(at + 8);
  const uint64_t c = load64(at + length - 8) * factor, d = load64(at + length - 16) * k2;
  const uint64_t y = rotated(a + b, 43) + rotated(c, 30) + d;
  const uint64_t z = join(y, a + rotated(b + k2, 18) + c, factor);
  const uint64_t e = load64(at + 16) * factor, f = load64(at + 24);
  const uint64_t g = (y + load64(at + length - 32)) * factor;
  const uint64_t h = (z + load64(at + length - 24)) * factor;
  return join(rotated(e + f, 43) + rotated(g, 30) + h, e + rotated(f + a, 18) + g, factor);
}

using Pair = std::pair<uint64_t, uint64_t>;

Pair mix_32(const char* at, uint64_t a, uint64_t b) {
  const uint64_t w = load64(at), x = load64(at + 8), y = load64(at + 16), z = load64(at + 24);
  a += w;
  b = rotated(b + a + z, 21);
  const uint64_t c = a;
  a += x + y;
  b += rotated(a, 44);
  return {a + z, b + c};
}

// The state over blocks of 64 bytes.
struct Blocks {
  uint64_t x, y, z;
  Pair v = {0, 0}, w = {0, 0};

  // `factor` and `weight` are k1 and 1 except for the last block.
  void take(const char* at, uint64_t factor, uint64_t weight) {
    x = rotated(x + y + v.first + load64(at + 8), 37) * factor;
    y = rotated(y + v.second + load64(at + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + load64(at + 40);
    z = rotated(z + w.first, 33) * factor;
    v = mix_32(at, v.second * factor, x + w.first);
    w = mix_32(at + 32, z + w.second, y + load64(at + 16));
    std::swap(z, x);
  }
};

struct SipState {
  uint64_t v0, v1, v2, v3;
  void round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  void take(uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

}  // namespace

uint64_t fingerprint64(std::string_view text) {
  const size_t length = text.size();
  const char* at = text.data();
  if (length <= 16) return hash_to_16(at, length);
  if (length <= 32) return hash_to_32(at, length);
  if (length <= 64) return hash_to_64(at, length);
  constexpr uint64_t kSeed = 81;
  Blocks state{kSeed * k2 + load64(at), kSeed * k1 + 113, 0};
  state.z = fold(state.y * k2 + 113) * k2;
  const size_t rest = (length - 1) & 63;
  const char* const end = at + (length - 1) / 64 * 64;
  for (; at != end; at += 64) state.take(at, k1, 1);
  const uint64_t factor = k1 + ((state.z & 0xff) << 1);
  state.w.first += rest;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.take(end + rest - 63, factor, 9);
  return join(join(state.v.first, state.w.first, factor) + fold(state.y) * k0 + state.z,
              join(state.v.second, state.w.second, factor) + state.x, factor);
}

uint64_t fingerprint_cat64(uint64_t first, uint64_t second) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995u;
  uint64_t result = first ^ kFactor;
  result ^= fold(second * kFactor) * kFactor;
  result *= kFactor;
  return fold(fold(result) * kFactor);
}

uint64_t strong_hash64(uint64_t key0, uint64_t key1, std::string_view text) {
  SipState state{key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du, key0 ^ 0x6c7967656e657261u,
                 key1 ^ 0x7465646279746573u};
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) state.take(load64(at));
  uint64_t last = static_cast<uint64_t>(text.size()) << 56;
  for (size_t i = 0; i < left; ++i) last |= byte_at(at + i) << (8 * i);
  state.take(last);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

uint64_t legacy_hash64(std::string_view text) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995u;
  constexpr uint64_t kSeed = 0xDECAFCAFFEu;
  uint64_t hash = kSeed ^ text.size() * kFactor;
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) {
    const uint64_t word = load64(at) * kFactor;
    hash = (hash ^ fold(word) * kFactor) * kFactor;
  }
  if (left != 0) {
    for (size_t i = 0; i < left; ++i) hash ^= byte_at(at + i) << (8 * i);
    hash *= kFactor;
  }
  return fold(fold(hash) * kFactor);
}

}  // namespace serval::operators
