// The tabular operators against TensorFlow's own results (goldens/, made by make-goldens.py), one
// test for each group of cases.
#include <cmath>

#include "operators/support/golden_file.h"

namespace serval::operators {
namespace {

template <typename T>
void expect_near(const FakeTensor& got, const FakeTensor& wanted, double tolerance) {
  const std::vector<T> a = got.values<T>(), b = wanted.values<T>();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) EXPECT_TRUE(std::isnan(a[i]));
    else if (std::isinf(b[i])) EXPECT_EQ(a[i], b[i]);
    else EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "element " << i;
  }
}

void expect_same(const FakeTensor& got, const FakeTensor& wanted) {
  EXPECT_EQ(dtype_name(got.dtype), dtype_name(wanted.dtype));
  EXPECT_EQ(got.dims, wanted.dims);
  if (got.dtype != wanted.dtype || got.dims != wanted.dims) return;
  if (got.dtype == DType::Fp32) expect_near<float>(got, wanted, 1e-6);
  else if (got.dtype == DType::Fp64) expect_near<double>(got, wanted, 1e-12);
  else EXPECT_TRUE(got == wanted);
}

class TabularGolden : public testing::TestWithParam<const char*> {};

TEST_P(TabularGolden, AsTensorFlow) {
  for (const GoldenCase& golden : read_goldens(GetParam())) {
    SCOPED_TRACE(golden.name);
    const auto got =
        run_operator(golden.op, golden.attributes, golden.inputs, golden.output_count());
    if (!golden.error.empty()) {
      ASSERT_FALSE(got.ok()) << "TensorFlow says: " << golden.error;
      EXPECT_EQ(got.error().code, ErrorCode::InvalidArgument) << got.error().message;
      if (golden.exact) EXPECT_EQ(got.error().message, golden.error);
      continue;
    }
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (size_t i = 0; i < golden.outputs.size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      expect_same(got.value()[i], golden.outputs[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, TabularGolden, testing::ValuesIn(kGoldenGroups),
                         [](const auto& group) { return std::string(group.param); });

}  // namespace
}  // namespace serval::operators
