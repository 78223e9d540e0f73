// Reading of columns by stages, labels by text, and hashes: values by hand, hashes from the
// reference implementation of MurmurHash3 (whole tail) and from Spark's documentation (byte by
// byte).
#include "tabular/features/columns.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/plan_maker.h"
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
}

// Fields of any type, and one stage.
struct OneStage {
  OneStage(const std::string& kind, size_t inputs, Type type, const MadeAttributes& attributes,
           Type element = Type::Any) {
    for (size_t i = 0; i < inputs; ++i) {
      in.push_back(maker.field("x" + std::to_string(i), Type::Any));
    }
    out = maker.only(kind, in, type, attributes, element);
    plan.emplace(maker);
  }
  // A sparse vector of `size` that holds one 1.
  void one_sparse(uint32_t column, uint32_t size) {
    Column& made = plan->at(column);
    made.reset(Type::Vector, plan->frame->rows);
    made.sparse = true;
    made.start_row(0);
    made.reals.push_back(1);
    made.indices.push_back(0);
    made.end_sparse_row(size);
  }
  PlanMaker maker;
  std::vector<uint32_t> in;
  uint32_t out = 0;
  std::optional<PlanRun> plan;
};

TEST(Rows, OfAnotherLengthAreRefusedAndLeaveNothing) {
  OneStage stage("scale", 1, Type::Vector,
                 {{"shift", std::vector<double>{1, 2}}, {"clamp", false}});
  const std::vector<std::vector<double>> rows = {{5, 5}, {1, 2, 3}, {6, 6}};
  stage.plan->begin(3);
  stage.plan->vectors(stage.in[0], rows);
  EXPECT_EQ(stage.plan->run(), "here: row 1: column 'x0': expected a vector of 2 values, got 3");
  stage.plan->vectors(stage.in[0], rows);
  EXPECT_EQ(stage.plan->run(true), "");
  EXPECT_EQ(stage.plan->at(stage.out).reals, std::vector<double>({4, 3, 5, 4}));
  EXPECT_EQ(stage.plan->at(stage.out).offsets, std::vector<uint64_t>({0, 2, 2, 4}));
  EXPECT_FALSE(stage.plan->at(stage.out).valid(1));
}

// The part of a row that was appended before its fault was found is removed.
TEST(Rows, RefusedHalfwayLeaveNothing) {
  OneStage texts("index_to_string", 1, Type::List, {{"labels", std::vector<std::string>{"a", "b"}}},
                 Type::String);
  texts.plan->begin(3);
  texts.plan->vectors(texts.in[0], {{0, 1}, {1, 1, 9}, {1}});
  ASSERT_EQ(texts.plan->run(true), "");
  EXPECT_EQ(texts.plan->at(texts.out).texts.size(), 3u);
  EXPECT_EQ(texts.plan->at(texts.out).offsets, std::vector<uint64_t>({0, 2, 2, 3}));
  OneStage parts("vector_assembler", 2, Type::Vector, {{"invalid", std::string("error")}});
  parts.plan->begin(2);
  parts.plan->vectors(parts.in[0], {{1, 2}, {3, 4}});
  parts.plan->reals(parts.in[1], {std::nan(""), 5});
  ASSERT_EQ(parts.plan->run(true), "");
  EXPECT_EQ(parts.plan->at(parts.out).reals, std::vector<double>({3, 4, 5}));
}

// A million wide rows would need terabytes.
TEST(Rows, AColumnHasSoManyValuesAtMost) {
  OneStage stage("vector_slicer", 1, Type::Vector, {{"indices", std::vector<int32_t>(50, 0)}});
  const std::vector<std::vector<double>> rows(5, {7});
  stage.plan->begin(5);
  stage.plan->vectors(stage.in[0], rows);
  RunOptions options;
  options.column_values_max = 199;
  const Status refused = stage.plan->plan->run(*stage.plan->frame, options, nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::BodyTooLarge);
  EXPECT_EQ(refused.error().message, "here: elements of 5 rows: expected at most 199, got 200");
  options.column_values_max = 200;
  EXPECT_TRUE(stage.plan->plan->run(*stage.plan->frame, options, nullptr).ok());
}

TEST(Rows, CoalescedOnesAreDenseOnlyWhereTheyAreNotTooWide) {
  OneStage stage("coalesce", 2, Type::Vector, {});
  stage.plan->begin(1);
  stage.one_sparse(stage.in[0], 3);
  stage.one_sparse(stage.in[1], 3);
  ASSERT_EQ(stage.plan->run(), "");
  EXPECT_EQ(stage.plan->at(stage.out).reals, std::vector<double>({1, 0, 0}));
  stage.one_sparse(stage.in[0], 2'000'000'000);
  EXPECT_EQ(stage.plan->run(), "here: row 0: a dense vector of 2000000000 values");
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
