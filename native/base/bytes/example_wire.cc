// Parses tf.train.Example messages. Hot path, any thread.
#include "base/bytes/example_wire.h"

#include <bit>
#include <cstring>

#include "base/bytes/generated/map_entry.h"
#include "base/bytes/generated/tensorflow.h"
#include "base/bytes/generated/tensorflow_example.h"
#include "base/bytes/views.h"

namespace serval {
namespace {

using proto::tensorflow::BytesList::kValue;
static_assert(kValue == proto::tensorflow::FloatList::kValue &&
              kValue == proto::tensorflow::Int64List::kValue);

constexpr uint32_t kKeyTag = bytes_tag(proto::MapEntry::kKey);
constexpr uint32_t kEntryValueTag = bytes_tag(proto::MapEntry::kValue);
// The values of a list: numbers one by one, or texts and packed numbers.
constexpr uint8_t kFixed32Tag = wire_tag(kValue, WireType::Fixed32);
constexpr uint8_t kVarintTag = wire_tag(kValue, WireType::Varint);
constexpr uint8_t kDelimitedTag = bytes_tag(kValue);
// Example.features and SequenceExample.context have the same number.
constexpr uint32_t kFeaturesTag = bytes_tag(proto::tensorflow::Example::kFeatures);
static_assert(kFeaturesTag == bytes_tag(proto::tensorflow::SequenceExample::kContext));
constexpr uint32_t kFeatureTag = bytes_tag(proto::tensorflow::Features::kFeature);

uint64_t mix(std::string_view key) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ key.size();
  size_t left = key.size();
  const char* at = key.data();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  uint64_t word = 0;
  std::memcpy(&word, at, left);
  hash = (hash ^ word) * 0xff51afd7ed558ccdu;
  return hash ^ hash >> 29;
}

// Reads one entry of the features map: exactly a key and a value, in either order.
bool read_entry(std::span<const uint8_t> entry, std::string_view& key, FeatureBytes& value) {
  WireCursor cursor(entry);
  bool has_key = false, has_value = false;
  for (int i = 0; i < 2; ++i) {
    uint64_t tag = 0;
    std::span<const uint8_t> bytes;
    if (!cursor.varint(tag) || (tag != kKeyTag && tag != kEntryValueTag)) return false;
    if (!cursor.bytes(bytes)) return false;
    if (tag == kKeyTag) {
      key = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
      has_key = true;
    } else {
      value = {bytes.data(), static_cast<uint32_t>(bytes.size())};
      has_value = true;
    }
  }
  return has_key && has_value && cursor.done();
}

bool is_known_kind(FeatureBytes feature) { return feature_kind(feature) != DType::Invalid; }

ExampleFault read_features(std::span<const uint8_t> features, const FeatureIndex& index,
                           const std::vector<bool>& empty_counts, ExampleFeatures& out,
                           size_t& place) {
  WireCursor cursor(features);
  ExampleFault fault = ExampleFault::None;
  for (; !cursor.done(); ++place) {
    uint64_t tag = 0;
    std::span<const uint8_t> entry;
    std::string_view key;
    FeatureBytes value;
    if (!cursor.varint(tag) || tag != kFeatureTag || !cursor.bytes(entry) ||
        !read_entry(entry, key, value)) {
      return ExampleFault::Malformed;
    }
    if (place >= out.guesses.size()) out.guesses.push_back(-1);
    const int column = index.find(key, out.guesses[place]);
    if (column < 0) continue;
    out.guesses[place] = column;
    const size_t at = static_cast<size_t>(column);
    if (value.bytes == 0) {
      if (empty_counts[at]) out.columns[at] = {};
      continue;
    }
    if (!is_known_kind(value)) fault = ExampleFault::UnknownKind;
    out.columns[at] = value;
  }
  return fault;
}

bool count_strings(std::span<const uint8_t> run, uint32_t& count) {
  WireCursor cursor(run);
  for (; !cursor.done(); ++count) {
    std::span<const uint8_t> value;
    if (*cursor.at++ != kDelimitedTag || !cursor.bytes(value)) return false;
  }
  return true;
}

// Numbers: the first tag says whether one packed run follows (anything after it is ignored) or
// single values.
bool open_numbers(std::span<const uint8_t> values, FeatureList& list) {
  const uint8_t single = list.kind == DType::Fp32 ? kFixed32Tag : kVarintTag;
  if (values.empty()) return true;
  WireCursor cursor(values);
  list.packed = *values.data() == kDelimitedTag;
  if (list.packed) {
    ++cursor.at;
    if (!cursor.bytes(list.run)) return false;
    uint64_t count = list.run.size() / sizeof(float);  // an incomplete last value is ignored
    if (list.kind == DType::Int64) {
      count = 0;
      if (count_varints(list.run, count, 0x7f) != nullptr) return false;
    }
    list.count = static_cast<uint32_t>(count);
    return true;
  }
  list.run = values;
  for (; !cursor.done(); ++list.count) {
    if (*cursor.at++ != single) return false;
    uint64_t ignored = 0;
    if (list.kind == DType::Int64) {
      if (!cursor.varint(ignored)) return false;
    } else if (!cursor.fixed<uint32_t>(ignored)) {
      return false;
    }
  }
  return true;
}

}  // namespace

FeatureIndex::FeatureIndex(const std::vector<std::string>& keys)
    : keys_(keys), slots_(std::bit_ceil(keys.size() * 2 + 2), -1) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    size_t slot = mix(keys_[i]) & (slots_.size() - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<int>(i);
  }
}

int FeatureIndex::look_up(std::string_view key) const {
  size_t slot = mix(key) & (slots_.size() - 1);
  for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (keys_[static_cast<size_t>(slots_[slot])] == key) return slots_[slot];
  }
  return -1;
}

ExampleFault find_features(std::string_view example, const FeatureIndex& index,
                           const std::vector<bool>& empty_counts, ExampleFeatures& out) {
  out.columns.assign(index.size(), {});
  WireCursor cursor(bytes_of(example));
  size_t place = 0;
  ExampleFault fault = ExampleFault::None;
  while (!cursor.done()) {
    uint64_t tag = 0;
    if (!cursor.varint(tag) || tag == 0) return ExampleFault::Malformed;
    if (tag != kFeaturesTag) {
      if (!cursor.skip(tag)) return ExampleFault::Malformed;
      continue;
    }
    // Concatenated Examples (a shared context, then the example itself) are merged.
    std::span<const uint8_t> features;
    if (!cursor.bytes(features)) return ExampleFault::Malformed;
    const ExampleFault found = read_features(features, index, empty_counts, out, place);
    if (found == ExampleFault::Malformed) return found;
    if (found != ExampleFault::None) fault = found;
  }
  return fault;
}

std::vector<std::string_view> feature_names(std::string_view example, size_t count_max) {
  std::vector<std::string_view> names;
  WireCursor cursor(bytes_of(example));
  uint64_t tag = 0;
  while (!cursor.done() && cursor.varint(tag)) {
    std::span<const uint8_t> features, entry;
    if (tag != kFeaturesTag) {
      if (!cursor.skip(tag)) return names;
      continue;
    }
    if (!cursor.bytes(features)) return names;
    WireCursor inner(features);
    while (names.size() < count_max && inner.varint(tag) && inner.bytes(entry)) {
      FeatureBytes value;
      if (read_entry(entry, names.emplace_back(), value)) continue;
      names.pop_back();
      return names;
    }
  }
  return names;
}

bool find_feature_lists(std::string_view example, const FeatureIndex& index, ExampleFeatures& out) {
  out.columns.assign(index.size(), {});
  WireCursor cursor(bytes_of(example));
  while (!cursor.done()) {
    uint64_t tag = 0;
    std::span<const uint8_t> lists;
    if (!cursor.varint(tag) || tag == 0) return false;
    if (tag != bytes_tag(proto::tensorflow::SequenceExample::kFeatureLists)) {
      if (!cursor.skip(tag)) return false;
      continue;
    }
    if (!cursor.bytes(lists)) return false;
    WireCursor inner(lists);
    while (!inner.done()) {
      std::span<const uint8_t> entry;
      std::string_view key;
      FeatureBytes value;
      if (!inner.varint(tag) || tag != bytes_tag(proto::tensorflow::FeatureLists::kFeatureList) ||
          !inner.bytes(entry) || !read_entry(entry, key, value)) {
        return false;
      }
      const int column = index.find(key, -1);
      if (column >= 0) out.columns[static_cast<size_t>(column)] = value;
    }
  }
  return true;
}

DType feature_kind(FeatureBytes feature) {
  if (feature.bytes == 0) return DType::Invalid;
  switch (*feature.data) {
    case bytes_tag(proto::tensorflow::Feature::kBytesList): return DType::Bytes;
    case bytes_tag(proto::tensorflow::Feature::kFloatList): return DType::Fp32;
    case bytes_tag(proto::tensorflow::Feature::kInt64List): return DType::Int64;
    default: return DType::Invalid;
  }
}

bool open_list(FeatureBytes feature, FeatureList& list) {
  list = {};
  list.kind = feature_kind(feature);
  WireCursor cursor(feature.span().subspan(1));
  std::span<const uint8_t> values;
  if (!cursor.bytes(values)) return false;
  if (list.kind != DType::Bytes) return open_numbers(values, list);
  list.run = values;
  return count_strings(values, list.count);
}

void read_floats(const FeatureList& list, float* out) {
  if (list.packed) {
    if (list.count != 0) std::memcpy(out, list.run.data(), list.count * sizeof(float));
    return;
  }
  const uint8_t* at = list.run.data();
  for (uint32_t i = 0; i < list.count; ++i, at += 5) std::memcpy(out + i, at + 1, sizeof(float));
}

void read_integers(const FeatureList& list, int64_t* out) {
  const uint8_t* at = list.run.data();
  const uint8_t* const end = at + list.run.size();
  for (uint32_t i = 0; i < list.count; ++i) {
    if (!list.packed) ++at;
    out[i] = static_cast<int64_t>(checked_varint(at, end));
  }
}

void read_strings(const FeatureList& list, std::string_view* out) {
  WireCursor cursor(list.run);
  for (uint32_t i = 0; i < list.count; ++i) {
    std::span<const uint8_t> value;
    ++cursor.at;
    if (!cursor.bytes(value)) return;  // cannot fail: open_list() has checked it
    out[i] = {reinterpret_cast<const char*>(value.data()), value.size()};
  }
}

}  // namespace serval
