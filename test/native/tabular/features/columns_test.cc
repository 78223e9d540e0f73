// What stages read of columns, labels by text and hashes: values by hand, hashes from the reference
// implementation of MurmurHash3 (whole tail) and from Spark's documentation (byte by byte).
#include "tabular/features/columns.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tabular/features/murmur.h"
#include "tabular/features/text_index.h"

namespace serval::tabular {
namespace {

TEST(VectorRows, SparseOnesAreReadAsDenseOnes) {
  const double held[] = {5, 7};
  const int32_t indices[] = {1, 3};
  const VectorRow sparse{held, indices, 2, 5};
  const double dense_held[] = {0, 5, 0, 7, 0};
  const VectorRow dense{dense_held, nullptr, 5, 5};
  const double weights[] = {1, 10, 100, 1000, 10000};
  EXPECT_EQ(sparse.dot(weights), 7050);
  EXPECT_EQ(dense.dot(weights), 7050);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(sparse.at(i), dense.at(i));
  std::vector<double> room;
  const double* values = dense_values(sparse, room);
  EXPECT_EQ(std::vector<double>(values, values + 5), std::vector<double>({0, 5, 0, 7, 0}));
  EXPECT_EQ(dense_values(dense, room), dense_held);
  EXPECT_EQ(wrong_size(5, sparse), "");
  EXPECT_EQ(wrong_size(4, sparse), "expected a vector of 4 values, got 5");
}

TEST(TextIndexes, FindWhatIsThereAndNothingElse) {
  const TextId close[] = {7, 5, 6};
  const TextId far[] = {100000, 3, 50000};
  const TextIndex dense(close), searched(far);
  EXPECT_EQ(dense[7], 0);
  EXPECT_EQ(dense[5], 1);
  EXPECT_EQ(dense[6], 2);
  for (const TextId other : {-1, 0, 4, 8, 1 << 30}) EXPECT_EQ(dense[other], -1);
  EXPECT_EQ(searched[100000], 0);
  EXPECT_EQ(searched[3], 1);
  EXPECT_EQ(searched[50000], 2);
  for (const TextId other : {-1, 4, 99999, 100001}) EXPECT_EQ(searched[other], -1);
  EXPECT_EQ(TextIndex()[0], -1);
}

TEST(TextIndexes, OfEqualTextsTheLastOneCounts) {
  const TextId texts[] = {4, 9, 4};
  const TextIndex index(texts);
  EXPECT_EQ(index[4], 2);
  EXPECT_TRUE(index.has_duplicates());
}

TEST(Murmur, OfTexts) {
  const auto slot = [](std::string_view text, bool whole) {
    return hash_slot(murmur3(text, whole), 1 << 18);
  };
  EXPECT_EQ(slot("real", true), 174475);
  EXPECT_EQ(slot("string=foo", true), 257907);
  EXPECT_EQ(slot("string=foo", false), 63643);
  EXPECT_EQ(slot("bool=true", true), 247670);
  EXPECT_EQ(slot("bool=true", false), 253195);
  EXPECT_EQ(static_cast<uint32_t>(murmur3("", true)), 0x087fcd5cU);
}

TEST(Murmur, SlotsAreNotNegative) {
  EXPECT_EQ(hash_slot(-1, 10), 9);
  EXPECT_EQ(hash_slot(-10, 10), 0);
  EXPECT_EQ(hash_slot(INT32_MIN, 7), (INT32_MIN % 7) + 7);
}

}  // namespace
}  // namespace serval::tabular
