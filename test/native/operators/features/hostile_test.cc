// The tabular operators on inputs that no client should send: the golden inputs with numbers,
// shapes and bytes changed at random (seeded), Examples cut at every byte, and counts beyond all
// memory. A run may fail or succeed; it must not read past an end, hang or use unbounded memory
// (the sanitizer builds check that).
#include <chrono>
#include <random>
#include <set>

#include "operators/support/golden_file.h"

namespace serval::operators {
namespace {

using Random = std::mt19937;

size_t below(Random& random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

int64_t odd_number(Random& random) {
  constexpr int64_t kOdd[] = {-1, 0, 1, 2, 7, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN, -1000};
  return kOdd[below(random, std::size(kOdd))];
}

void change_element(FakeTensor& tensor, Random& random) {
  if (!tensor.texts.empty()) {
    std::string& text = tensor.texts[below(random, tensor.texts.size())];
    const size_t at = below(random, text.size() + 1);
    switch (below(random, 3)) {
      case 0: text.resize(at); break;
      case 1: text.insert(at, 1, static_cast<char>(random())); break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random());
    }
    return;
  }
  const size_t width = dtype_bytes(tensor.dtype);
  if (tensor.raw.empty() || width == 0) return;
  const int64_t number = odd_number(random);
  std::memcpy(tensor.raw.data() + below(random, tensor.raw.size() / width) * width, &number,
              std::min(width, sizeof number));
  if (tensor.dtype == DType::Bool) {
    for (char& byte : tensor.raw) byte = static_cast<char>(byte & 1);
  }
}

// Makes the first dimension one shorter or longer, or changes the rank, with elements to fit.
void change_shape(FakeTensor& tensor, Random& random) {
  switch (below(random, 3)) {
    case 0:
      if (!tensor.dims.empty()) tensor.dims[below(random, tensor.dims.size())] = below(random, 5);
      break;
    case 1: tensor.dims.insert(tensor.dims.begin(), static_cast<int64_t>(below(random, 3))); break;
    default:
      if (!tensor.dims.empty()) tensor.dims.pop_back();
  }
  const size_t elements = Shape(tensor.dims).elements().value_or(0);
  if (tensor.dtype == DType::Bytes) tensor.texts.resize(elements, "text");
  else tensor.raw.resize(elements * dtype_bytes(tensor.dtype), '\1');
}

class TabularHostile : public testing::TestWithParam<const char*> {};

TEST_P(TabularHostile, ChangedInputs) {
  Random random(20240607);
  size_t refused = 0, accepted = 0;
  for (const GoldenCase& golden : read_goldens(GetParam())) {
    SCOPED_TRACE(golden.name);
    for (int round = 0; round < 60; ++round) {
      std::vector<FakeTensor> inputs = golden.inputs;
      for (size_t changes = 1 + below(random, 3); changes > 0 && !inputs.empty(); --changes) {
        FakeTensor& tensor = inputs[below(random, inputs.size())];
        if (below(random, 4) == 0) change_shape(tensor, random);
        else change_element(tensor, random);
      }
      if (below(random, 20) == 0 && inputs.size() > 1) inputs.pop_back();
      const auto got = run_operator(golden.op, golden.attributes, inputs, 64);
      ++(got.ok() ? accepted : refused);
      if (!got.ok()) EXPECT_FALSE(got.error().message.empty());
    }
  }
  EXPECT_GT(refused + accepted, 400u);
  if (std::string(GetParam()) != "hash") EXPECT_GT(refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(Groups, TabularHostile, testing::ValuesIn(kGoldenGroups),
                         [](const auto& group) { return std::string(group.param); });

TEST(TabularHostile, ExamplesCutAtEveryByteAreRefusedOrRead) {
  for (const GoldenCase& golden : read_goldens("example")) {
    if (!golden.error.empty() || golden.inputs[0].texts.empty()) continue;
    const std::string whole = golden.inputs[0].texts[0];
    for (size_t length = 0; length < whole.size(); ++length) {
      std::vector<FakeTensor> inputs = golden.inputs;
      inputs[0].texts[0] = whole.substr(0, length);
      const auto got = run_operator("ParseExample", golden.attributes, inputs, 64);
      if (!got.ok()) EXPECT_EQ(got.error().code, ErrorCode::InvalidArgument);
    }
  }
}

TEST(TabularHostile, LongErrorsAreCutAndPrintable) {
  FakeAttributes attributes;
  std::string noise(100'000, '\0');
  const auto got =
      run_operator("ParseExample", attributes, {FakeTensor::of_texts({1}, {"\x0a" + noise})}, 1);
  const auto bad =
      run_operator("ParseExample", attributes, {FakeTensor::of_texts({1}, {"\x0b" + noise})}, 1);
  ASSERT_FALSE(bad.ok());
  EXPECT_LT(bad.error().message.size(), 2000u);
  for (const char c : bad.error().message) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 127));
  (void)got;
}

TEST(TabularHostile, HugeCountsAreRefusedAtOnce) {
  const auto begun = std::chrono::steady_clock::now();
  const int64_t huge = INT64_MAX;
  const auto longs = [](std::vector<int64_t> values) {
    const int64_t count = static_cast<int64_t>(values.size());
    return FakeTensor::of<int64_t>(DType::Int64, {count}, values);
  };
  const auto scalar = [](int64_t value) {
    return FakeTensor::of<int64_t>(DType::Int64, {}, {value});
  };
  const FakeTensor values = FakeTensor::of<float>(DType::Fp32, {1}, {1});
  const FakeTensor zero = FakeTensor::of<float>(DType::Fp32, {}, {0});
  const FakeTensor place = FakeTensor::of<int64_t>(DType::Int64, {1, 2}, {0, 0});
  const std::pair<const char*, std::vector<FakeTensor>> runs[] = {
      {"SparseFillEmptyRows", {place, values, longs({huge, huge}), zero}},
      {"SparseToDense", {place, longs({huge, 2}), values, zero}},
      {"SparseToDense", {place, longs({1 << 30, 1 << 30}), values, zero}},
      {"SegmentReduce", {values, longs({huge})}},
      {"UnsortedSegmentReduce", {values, longs({0}), scalar(huge)}},
      {"UnsortedSegmentReduce", {values, longs({0}), scalar(-1)}},
      {"SparseSegmentReduce", {values, longs({0}), longs({0}), scalar(huge)}},
      {"Bincount", {longs({1}), scalar(huge), values}},
      {"RaggedRange", {scalar(0), scalar(huge), scalar(1)}},
      {"DynamicStitch", {longs({huge - 1}), values}},
      {"SparseReshape", {place, longs({huge, huge}), longs({-1})}},
      {"SparseTensorDenseMatMul",
       {place, values, longs({huge, 0}), FakeTensor::of<float>(DType::Fp32, {0, 2}, {})}},
  };
  for (const auto& [name, inputs] : runs) {
    SCOPED_TRACE(name);
    const auto got = run_operator(name, {}, inputs, 8);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, ErrorCode::InvalidArgument) << got.error().message;
  }
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_LT(std::chrono::duration_cast<std::chrono::seconds>(took).count(), 5);
}

TEST(TabularHostile, BadAttributesAreNamed) {
  FakeAttributes attributes;
  attributes.strings["dense_keys"] = "1:x";
  auto made = operator_named("ParseExample").make(attributes);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "attribute 'dense_types': expected 1 types, got 0");
  attributes.int_lists["dense_types"] = {9};
  made = operator_named("ParseExample").make(attributes);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("BOOL"), std::string::npos);
  attributes.int_lists["dense_types"] = {1};
  for (const std::vector<int64_t>& shapes :
       {std::vector<int64_t>{}, {2, 1}, {-1}, {1, -2}, {2, -1, 0}, {2, 1, -1}, {1, INT64_MAX}}) {
    attributes.int_lists["dense_shapes"] = shapes;
    made = operator_named("ParseExample").make(attributes);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::ModelInvalid);
  }
  attributes.strings["dense_keys"] = "9:x";
  EXPECT_FALSE(operator_named("ParseExample").make(attributes).ok());
  for (const char* name : {"StringToHashBucketFast", "StringToHashBucketStrong",
                           "RaggedTensorToTensor", "DynamicPartition"}) {
    EXPECT_FALSE(operator_named(name).make(FakeAttributes()).ok()) << name;
  }
}

// A split at node 0 of feature 1's dimension 2, and two leaves.
FakeAttributes stump() {
  FakeAttributes forest;
  forest.ints["logits_dimension"] = 1;
  forest.int_lists = {{"tree_sizes", {3}},   {"kinds", {1, 0, 0}},      {"features", {1, 0, 0}},
                      {"values", {5, 0, 0}}, {"dimensions", {2, 0, 0}}, {"lefts", {1, 0, 0}},
                      {"rights", {2, 0, 0}}};
  forest.float_lists = {{"tree_weights", {1}}, {"leaves", {-1, 1}}};
  return forest;
}

TEST(TabularHostile, TreesThatAreNoneAreNoModel) {
  const auto making = [](FakeAttributes forest) {
    auto made = operator_named("BoostedTreesPredict").make(forest);
    return made.ok() ? std::string() : made.error().message;
  };
  const auto with = [&](const char* list, std::vector<int64_t> values) {
    FakeAttributes forest = stump();
    forest.int_lists[list] = std::move(values);
    return making(forest);
  };
  EXPECT_EQ(making(stump()), "");
  EXPECT_EQ(with("lefts", {0, 0, 0}), "tree 0: two of its nodes lead to one");
  EXPECT_EQ(with("lefts", {2, 0, 0}), "tree 0: two of its nodes lead to one");
  EXPECT_EQ(with("rights", {3, 0, 0}), "tree 0: node 0 leads to a node that its tree has not");
  EXPECT_EQ(with("rights", {-1, 0, 0}), "tree 0: node 0 leads to a node that its tree has not");
  EXPECT_EQ(with("kinds", {3, 0, 0}), "tree 0: node 0 is of an unknown kind");
  EXPECT_EQ(with("kinds", {0, 0, 0}), "expected values of each leaf");
  EXPECT_EQ(with("features", {-1, 0, 0}), "tree 0: node 0 asks for a feature out of range");
  EXPECT_EQ(with("features", {INT64_MAX, 0, 0}), "tree 0: node 0 asks for a feature out of range");
  EXPECT_EQ(with("dimensions", {-1, 0, 0}), "tree 0: node 0 asks for a dimension out of range");
  EXPECT_EQ(with("values", {INT64_MAX, 0, 0}), "tree 0: node 0 splits at a number out of range");
  EXPECT_EQ(with("values", {1}), "expected one attribute of each node");
  for (const int64_t size : {int64_t{0}, int64_t{-1}, int64_t{4}, INT64_MAX}) {
    EXPECT_EQ(with("tree_sizes", {size}), "tree 0: its nodes are not there");
  }
  EXPECT_NE(with("tree_sizes", {2}), "");
  EXPECT_EQ(with("tree_sizes", {}), "expected one weight of each tree");
}

TEST(TabularHostile, TreesAskForWhatIsThere) {
  const auto predict = [](std::vector<FakeTensor> features) {
    const auto got = run_operator("BoostedTreesPredict", stump(), features, 1);
    return got.ok() ? std::string() : got.error().message;
  };
  const auto column = [](std::vector<int64_t> dims, std::vector<int32_t> values) {
    return FakeTensor::of<int32_t>(DType::Int32, dims, values);
  };
  const FakeTensor one = column({2}, {1, 2});
  EXPECT_EQ(predict({one, column({2, 3}, {1, 2, 3, 4, 5, 6})}), "");
  EXPECT_NE(predict({one}).find("ask for 2 features, got 1"), std::string::npos);
  EXPECT_NE(predict({one, one}).find("ask for 3 dimensions, got 1"), std::string::npos);
  EXPECT_NE(predict({one, column({1, 3}, {1, 2, 3})}).find("expected 2 rows"), std::string::npos);
  EXPECT_NE(predict({}), "");
}

TEST(TabularHostile, OperatorsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const OperatorType& type : all_operators()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
  }
  EXPECT_GT(names.size(), 25u);
}

}  // namespace
}  // namespace serval::operators
