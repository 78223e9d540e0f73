// The string and image operators against TensorFlow's own results (goldens/, made by
// make-goldens.py): equal to the last bit, with errors in the same words.
#include "operators/support/golden_file.h"

namespace serval::operators {
namespace {

class StringImageGolden : public testing::TestWithParam<const char*> {};

TEST_P(StringImageGolden, AsTensorFlow) {
  for (const GoldenCase& golden : read_goldens(GetParam())) {
    SCOPED_TRACE(golden.op + ": " + golden.name);
    const auto got =
        run_operator(golden.op, golden.attributes, golden.inputs, golden.output_count());
    if (!golden.error.empty()) {
      ASSERT_FALSE(got.ok()) << "TensorFlow says: " << golden.error;
      // Invalid attributes of the model are found when the kernel is made.
      EXPECT_TRUE(got.error().code == ErrorCode::InvalidArgument ||
                  got.error().code == ErrorCode::ModelInvalid ||
                  got.error().code == ErrorCode::Unimplemented)
          << got.error().message;
      if (golden.exact) {
        EXPECT_EQ(got.error().message, golden.error);
      }
      continue;
    }
    ASSERT_TRUE(got.ok()) << got.error().message;
    for (size_t i = 0; i < golden.outputs.size(); ++i) {
      const FakeTensor &ours = got.value()[i], &theirs = golden.outputs[i];
      EXPECT_EQ(dtype_name(ours.dtype), dtype_name(theirs.dtype)) << "output " << i;
      EXPECT_EQ(ours.dims, theirs.dims) << "output " << i;
      EXPECT_TRUE(ours == theirs) << "output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, StringImageGolden,
                         testing::Values("string_elements", "string_join", "string_ngrams",
                                         "string_split", "string_csv", "string_numbers",
                                         "string_unicode", "string_format", "regex", "image_jpeg",
                                         "image_png", "image_bmp", "image_gif"),
                         [](const auto& group) { return std::string(group.param); });

}  // namespace
}  // namespace serval::operators
