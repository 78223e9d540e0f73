// Operator libraries in parse_model_spec(): the paths are read, wrong values are refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/control/spec/codec.h"

namespace serval {
namespace {

Result<ModelSpec> parse_libraries(const std::vector<std::string>& paths,
                                  const char* backend = "onnxruntime", bool graphs = false) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("m");
  const auto by = builder.CreateString(backend);
  const auto libraries = builder.CreateVectorOfStrings(paths);
  const auto none = builder.CreateVector(std::vector<flatbuffers::Offset<fb::GraphSpec>>());
  fb::ModelSpecBuilder spec(builder);
  spec.add_name(name);
  spec.add_backend(by);
  spec.add_operator_libraries(libraries);
  if (graphs) spec.add_graphs(none);
  builder.Finish(spec.Finish());
  return parse_model_spec({builder.GetBufferPointer(), builder.GetSize()});
}

std::string library_refusal(const Result<ModelSpec>& spec) {
  if (spec.ok()) return "not refused";
  EXPECT_EQ(spec.error().code, ErrorCode::InvalidArgument);
  return spec.error().message;
}

TEST(LibrariesSpec, ReadsThePaths) {
  const Result<ModelSpec> spec = parse_libraries({"/a/b.so", "/c.so"});
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec.value().operator_libraries, (std::vector<std::string>{"/a/b.so", "/c.so"}));
  EXPECT_TRUE(parse_libraries({}, "tabular").ok());
  EXPECT_TRUE(parse_libraries({}, "onnxruntime", true).ok());
}

TEST(LibrariesSpec, NamesWhatIsWrong) {
  EXPECT_EQ(library_refusal(parse_libraries({"/a.so", "b.so"})),
            "model spec: operator_libraries[1] is 'b.so', expected an absolute path");
  EXPECT_EQ(library_refusal(parse_libraries({""})),
            "model spec: operator_libraries[0] is '', expected an absolute path");
  EXPECT_NE(library_refusal(parse_libraries({std::string("/a\0b", 4)})), "not refused");
  const std::string only =
      "model spec: operator_libraries are set, expected them for an ONNX file only";
  EXPECT_EQ(library_refusal(parse_libraries({"/a.so"}, "tabular")), only);
  EXPECT_EQ(library_refusal(parse_libraries({"/a.so"}, "onnxruntime", true)), only);
  EXPECT_EQ(library_refusal(parse_libraries(std::vector<std::string>(65, "/a.so"))),
            "model spec: operator_libraries are 65, expected at most 64");
}

}  // namespace
}  // namespace serval
