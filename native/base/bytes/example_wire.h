// Reads serialized tf.train.Example messages without building them: finds the requested features,
// then their lists' values. Hot path, any thread; borrows the message. Checks every length against
// the available bytes.
// Source: tensorflow/core/example/example.proto and feature.proto; refuses and ignores the same
// input as TensorFlow's own parser (measured with 2.21).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/wire_reader.h"
#include "base/dtype.h"

namespace serval {

// Maps keys to column numbers. Consecutive examples usually have their features in the same order,
// so the column of the previous example's feature at the same position is tried first.
class FeatureIndex {
 public:
  explicit FeatureIndex(const std::vector<std::string>& keys);
  // The column of a key, -1 if it is not requested. Tries `guess` (may be -1) first.
  int find(std::string_view key, int guess) const {
    if (guess >= 0 && keys_[static_cast<size_t>(guess)] == key) return guess;
    return look_up(key);
  }
  size_t size() const { return keys_.size(); }

 private:
  int look_up(std::string_view key) const;
  std::vector<std::string> keys_;
  std::vector<int> slots_;  // open addressing, a power of two; -1 = free
};

// A Feature's bytes; absent if data is null.
struct FeatureBytes {
  const uint8_t* data = nullptr;
  uint32_t bytes = 0;

  std::span<const uint8_t> span() const { return {data, bytes}; }
};

// The requested features of one message; reused for the next message.
struct ExampleFeatures {
  std::vector<FeatureBytes> columns;
  std::vector<int> guesses;  // columns by position in the previous message
};

enum class ExampleFault : uint8_t { None, Malformed, UnknownKind };

// Fills out.columns (index.size() of them). Of duplicate keys the last one counts; an empty Feature
// only counts if `empty_counts[column]` is set (sparse and ragged columns).
ExampleFault find_features(std::string_view example, const FeatureIndex& index,
                           const std::vector<bool>& empty_counts, ExampleFeatures& out);

// The names of the first `count_max` features of a message that passed find_features(), in message
// order. For error texts.
std::vector<std::string_view> feature_names(std::string_view example, size_t count_max);

// The same for the feature lists of a tf.train.SequenceExample: a column's bytes are a FeatureList.
// (Its context reads as an Example.) False: the message is malformed.
bool find_feature_lists(std::string_view example, const FeatureIndex& index, ExampleFeatures& out);

// A list of values in a Feature.
struct FeatureList {
  DType kind = DType::Invalid;  // Bytes, Fp32, Int64; Invalid: the Feature is empty
  bool packed = false;
  uint32_t count = 0;  // number of values
  std::span<const uint8_t> run;
};

// Opens the list of a non-empty Feature of a known kind. False: it is malformed.
bool open_list(FeatureBytes feature, FeatureList& list);

// Returns only the kind, without reading the values.
DType feature_kind(FeatureBytes feature);

// Write list.count values of a list that passed open_list().
void read_floats(const FeatureList& list, float* out);
void read_integers(const FeatureList& list, int64_t* out);
void read_strings(const FeatureList& list, std::string_view* out);

}  // namespace serval
