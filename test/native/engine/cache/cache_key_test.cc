// Keys of requests: what they depend on, and what not.
#include "engine/cache/cache_key.h"

#include <gtest/gtest.h>

#include <vector>

namespace serval::test {
namespace {

class CacheKeyTest : public ::testing::Test {
 protected:
  TensorView floats(std::vector<int64_t> dims) {
    TensorView view;
    view.dtype = DType::Fp32;
    for (const int64_t dim : dims) EXPECT_TRUE(view.shape.push_back(dim));
    view.data = reinterpret_cast<const uint8_t*>(values_.data());
    view.bytes = values_.size() * sizeof(float);
    return view;
  }
  TensorView texts(std::span<const std::string_view> strings) {
    TensorView view;
    view.dtype = DType::Bytes;
    EXPECT_TRUE(view.shape.push_back(static_cast<int64_t>(strings.size())));
    view.strings = strings;
    return view;
  }
  DecodedRequest request(TensorView input) {
    DecodedRequest decoded;
    decoded.inputs = {input};
    decoded.outputs = {{0}};
    return decoded;
  }
  CacheKey key(const DecodedRequest& decoded, uint64_t owner = 1) {
    return keys_(hash_, owner, decoded);
  }

  const KeyedHash hash_{9};
  KeyMaker keys_;
  std::vector<float> values_{1, 2, 3, 4};
};

TEST_F(CacheKeyTest, EqualRequestsHaveOneKeyWhateverTheFormOfTheirOutputs) {
  const DecodedRequest one = request(floats({2, 2}));
  DecodedRequest other = request(floats({2, 2}));
  other.has_id = true;
  other.id = "a";
  other.row_format = true;
  other.outputs[0].binary = true;
  other.outputs[0].classes = 3;
  EXPECT_EQ(key(one), key(other));
}

TEST_F(CacheKeyTest, DependsOnModelSignatureOutputsShapeTypeAndValues) {
  std::vector<DecodedRequest> others(9, request(floats({2, 2})));
  const CacheKey base = key(others[0]);
  others[1].signature_index = 1;
  others[2].outputs = {{1}};
  others[3].outputs = {{0}, {1}};
  others[4] = request(floats({4, 1}));
  others[5].inputs[0].dtype = DType::Int32;
  others[6].inputs.push_back(TensorView());
  others[7].table.null_for_invalid = true;
  others[8].left_out = {0};
  for (size_t i = 1; i < others.size(); ++i) {
    EXPECT_FALSE(key(others[i]) == base) << i;
    for (size_t j = 1; j < i; ++j) EXPECT_FALSE(key(others[i]) == key(others[j])) << i << " " << j;
  }
  EXPECT_FALSE(key(others[0], 2) == base);
  values_[3] = 5;
  EXPECT_FALSE(key(others[0]) == base);
}

TEST_F(CacheKeyTest, TextsAreNotJoined) {
  const std::array<std::string_view, 2> one{"ab", "c"}, other{"a", "bc"}, empty{"abc", ""};
  const CacheKey first = key(request(texts(one)));
  EXPECT_FALSE(first == key(request(texts(other))));
  EXPECT_FALSE(first == key(request(texts(empty))));
  const std::array<std::string_view, 2> same{"ab", "c"};
  EXPECT_EQ(first, key(request(texts(same))));
}

TEST_F(CacheKeyTest, MissingRowsAndLengthsOfListsCount) {
  const std::array<uint8_t, 4> none{}, second{0, 1, 0, 0};
  const std::array<uint32_t, 4> lengths{1, 1, 1, 1}, others{2, 0, 1, 1};
  DecodedRequest decoded = request(floats({4}));
  decoded.inputs[0].states = none.data();
  const CacheKey valid = key(decoded);
  decoded.inputs[0].states = second.data();
  EXPECT_FALSE(key(decoded) == valid);
  decoded.inputs[0].states = nullptr;
  decoded.inputs[0].lengths = lengths.data();
  const CacheKey first = key(decoded);
  decoded.inputs[0].lengths = others.data();
  EXPECT_FALSE(key(decoded) == first);
}

TEST_F(CacheKeyTest, TensorsInSharedMemoryAreNotCached) {
  DecodedRequest decoded = request(floats({4}));
  EXPECT_TRUE(is_cacheable(decoded));
  decoded.shared.emplace_back();
  EXPECT_FALSE(is_cacheable(decoded));
}

}  // namespace
}  // namespace serval::test
