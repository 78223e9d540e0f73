// Reads serialized tf.train.Example messages without building them: finds the features that are
// wanted, then their lists' values. Hot path, any thread; borrows the message. Every length is
// checked against the bytes that are there.
// Source: tensorflow/core/example/example.proto and feature.proto; what is refused and what is
// passed over is as TensorFlow's own parser has it (measured with 2.21).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/wire_reader.h"
#include "base/dtype.h"

namespace serval {

// Keys to column numbers. Features of consecutive examples mostly stand in one order, so the column
// of the last example's feature at the same place is tried first.
class FeatureIndex {
 public:
  explicit FeatureIndex(const std::vector<std::string>& keys);
  // The column of a key, -1 where it is not wanted. `guess` (may be -1) is tried first.
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

// A Feature's bytes; absent where data is null.
struct FeatureBytes {
  const uint8_t* data = nullptr;
  uint32_t bytes = 0;

  std::span<const uint8_t> span() const { return {data, bytes}; }
};

// The wanted features of one message; reused from message to message.
struct ExampleFeatures {
  std::vector<FeatureBytes> columns;
  std::vector<int> guesses;  // columns by their place in the message before
};

enum class ExampleFault : uint8_t { None, Malformed, UnknownKind };

// Fills out.columns (index.size() of them). A key that comes twice: the last one counts; an empty
// Feature counts only where `empty_counts[column]` says so (sparse and ragged columns).
ExampleFault find_features(std::string_view example, const FeatureIndex& index,
                           const std::vector<bool>& empty_counts, ExampleFeatures& out);

// The names of the first `count_max` features of a message that find_features() passed, as they
// stand in it. For error texts.
std::vector<std::string_view> feature_names(std::string_view example, size_t count_max);

// The same for the feature lists of a tf.train.SequenceExample: a column's bytes are a FeatureList.
// (Its context reads as an Example.) False where the message is malformed.
bool find_feature_lists(std::string_view example, const FeatureIndex& index, ExampleFeatures& out);

// A list of values in a Feature.
struct FeatureList {
  DType kind = DType::Invalid;  // Bytes, Fp32, Int64; Invalid: the Feature is empty
  bool packed = false;
  uint32_t count = 0;  // of values
  std::span<const uint8_t> run;
};

// The list of a non-empty Feature of a known kind. False where it is malformed.
bool open_list(FeatureBytes feature, FeatureList& list);

// Only the kind, without a look at the values.
DType feature_kind(FeatureBytes feature);

// Write list.count values of a list that open_list() passed.
void read_floats(const FeatureList& list, float* out);
void read_integers(const FeatureList& list, int64_t* out);
void read_strings(const FeatureList& list, std::string_view* out);

}  // namespace serval
