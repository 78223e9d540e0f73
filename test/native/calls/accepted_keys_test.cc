// The cache of accepted credentials: what matches an entry, and how many entries are kept.
#include "calls/accepted_keys.h"

#include <gtest/gtest.h>

namespace serval {
namespace {

bool has(const AcceptedKeys& keys, uint64_t check, std::string_view text) {
  return keys.find(check, text).has_value();
}

const std::string kText = "Bearer " + std::string(43, 'k');

TEST(AcceptedKeys, KnowsOnlyWhatWasAddedAndByWhichCheck) {
  AcceptedKeys keys;
  EXPECT_FALSE(has(keys, 1, kText));
  keys.add(1, kText);
  EXPECT_TRUE(has(keys, 1, kText));
  EXPECT_FALSE(has(keys, 0, kText));
  EXPECT_FALSE(has(keys, 2, kText));
  EXPECT_FALSE(has(keys, uint64_t{1} << 32, kText));
}

TEST(AcceptedKeys, KnowsTheCallerOfEachText) {
  AcceptedKeys keys;
  keys.add(1, kText, 7);
  keys.add(1, kText + "2", 8);
  keys.add(2, kText);
  EXPECT_EQ(keys.find(1, kText), 7u);
  EXPECT_EQ(keys.find(1, kText + "2"), 8u);
  EXPECT_EQ(keys.find(2, kText), 0u);
  EXPECT_EQ(keys.find(3, kText), std::nullopt);
}

TEST(AcceptedKeys, TakesNoOtherTextForOneOfThem) {
  AcceptedKeys keys;
  keys.add(1, kText);
  for (size_t i = 0; i < kText.size(); ++i) {
    std::string other = kText;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(has(keys, 1, other)) << i;
    other[i] = static_cast<char>(other[i] ^ 0x81);
    EXPECT_FALSE(has(keys, 1, other)) << i;
    EXPECT_FALSE(has(keys, 1, kText.substr(0, i))) << i;
    EXPECT_FALSE(has(keys, 1, kText.substr(i + 1))) << i;
  }
  for (const std::string& more : {std::string(1, '\0'), std::string("k"), kText}) {
    EXPECT_FALSE(has(keys, 1, kText + more));
  }
  EXPECT_FALSE(has(keys, 1, ""));
}

TEST(AcceptedKeys, KeepsEveryLengthUpToItsBound) {
  AcceptedKeys keys;
  for (size_t size = 1; size <= kAcceptedKeyBytesMax + 2; ++size) {
    const std::string text(size, 'k');
    keys.add(1, text);
    EXPECT_EQ(has(keys, 1, text), size <= kAcceptedKeyBytesMax) << size;
    EXPECT_FALSE(has(keys, 1, text + "k")) << size;
  }
  AcceptedKeys empty;
  empty.add(1, "");
  EXPECT_EQ(empty.size(), 0u);
}

TEST(AcceptedKeys, KeepsSoManyAndTheLatestIsOneOfThem) {
  AcceptedKeys keys;
  for (size_t i = 0; i < 10 * kAcceptedKeysMax; ++i) {
    const std::string text = kText + std::to_string(i);
    keys.add(1, text);
    EXPECT_TRUE(has(keys, 1, text)) << i;
    EXPECT_LE(keys.size(), kAcceptedKeysMax);
  }
  keys.clear();
  EXPECT_EQ(keys.size(), 0u);
  EXPECT_FALSE(has(keys, 1, kText + "1279"));
}

}  // namespace
}  // namespace serval
