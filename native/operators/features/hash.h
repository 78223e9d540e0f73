// The hash functions of TensorFlow's hashing operators. Pure; hot path, any thread. Written from
// the published descriptions (FarmHash's Fingerprint64, SipHash-2-4, MurmurHash64A); results are
// part of trained models and must never change.
#pragma once

#include <cstdint>
#include <string_view>

namespace serval::operators {

// FarmHash Fingerprint64: StringToHashBucketFast, Fingerprint, SparseCross.
uint64_t fingerprint64(std::string_view text);

// Combines two fingerprints; the order matters.
uint64_t fingerprint_cat64(uint64_t first, uint64_t second);

// SipHash-2-4: StringToHashBucketStrong, keyed SparseCrossHashed.
uint64_t strong_hash64(uint64_t key0, uint64_t key1, std::string_view text);

// MurmurHash64A with TensorFlow's seed: the old StringToHashBucket.
uint64_t legacy_hash64(std::string_view text);

}  // namespace serval::operators
