// The ONNX Runtime backend loading models: signatures, metadata, options, providers, and every way
// in which a model file is refused. An operator reads these messages in a model's status.
#include <sys/stat.h>

#include "backend/onnxruntime/library.h"
#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;
using OrtLoad = OnnxRuntimeTest;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(OrtLoad, SignatureAndMetadata) {
  onnx::Model graph = onnx::mlp(6, 4, 3);
  graph.producer = "a producer";
  graph.domain = "org.example";
  graph.description = "what it does";
  graph.model_version = 7;
  graph.metadata = {{"b", "2"}, {"a", "1"}, {"labels", "cat,dog"}};
  const std::string bytes = graph.to_bytes();
  const auto model = load(graph);
  ASSERT_TRUE(model);
  const BackendModelInfo& info = model->info();
  EXPECT_EQ(info.producer, "a producer");
  EXPECT_EQ(info.graph_name, "mlp");
  EXPECT_EQ(info.domain, "org.example");
  EXPECT_EQ(info.description, "what it does");
  EXPECT_EQ(info.model_version, 7);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "1"}, {"b", "2"}, {"labels", "cat,dog"}};
  EXPECT_EQ(info.metadata, expected);
  EXPECT_EQ(info.file_bytes, static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(info.providers, std::vector<std::string>{"CPUExecutionProvider"});
  ASSERT_EQ(info.signatures.size(), 1u);
  const Signature& signature = info.signatures[0];
  EXPECT_EQ(signature.name, "serving_default");
  ASSERT_EQ(signature.inputs.size(), 1u);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_EQ(signature.inputs[0].dtype, DType::Fp32);
  EXPECT_EQ(signature.inputs[0].dims, (std::vector<int64_t>{-1, 6}));
  EXPECT_EQ(signature.inputs[0].symbols, (std::vector<std::string>{"batch", ""}));
  EXPECT_FALSE(signature.inputs[0].unknown_rank);
  ASSERT_EQ(signature.outputs.size(), 1u);
  EXPECT_EQ(signature.outputs[0].dims, (std::vector<int64_t>{-1, 3}));
}

TEST_F(OrtLoad, ScalarUnknownRankAndUnnamedDim) {
  onnx::Model graph;
  graph.node("Identity", {"scalar"}, {"a"}).node("Identity", {"anything"}, {"b"});
  graph.node("Identity", {"unnamed"}, {"c"});
  graph.input("scalar", onnx::kFloat, Dims{}).input("anything", onnx::kFloat, std::nullopt);
  graph.input("unnamed", onnx::kFloat, Dims{std::string(), int64_t{0}});
  graph.output("a", onnx::kFloat, Dims{}).output("b", onnx::kFloat, std::nullopt);
  graph.output("c", onnx::kFloat, Dims{std::string(), int64_t{0}});
  const auto model = load(graph);
  ASSERT_TRUE(model);
  const Signature& signature = model->info().signatures[0];
  // A library before 1.24 cannot distinguish a scalar from a tensor of unknown rank.
  const auto runtime = ort::acquire_runtime(onnxruntime_library(), 2);
  const bool scalar_unknown = !runtime.value()->has_shape_calls;
  EXPECT_EQ(signature.inputs[0].unknown_rank, scalar_unknown);
  EXPECT_TRUE(signature.inputs[0].dims.empty());
  EXPECT_TRUE(signature.inputs[1].unknown_rank);
  EXPECT_FALSE(signature.inputs[2].unknown_rank);
  EXPECT_EQ(signature.inputs[2].dims, (std::vector<int64_t>{-1, 0}));
  EXPECT_EQ(signature.inputs[2].symbols, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(signature.outputs[0].unknown_rank, scalar_unknown);
  EXPECT_TRUE(signature.outputs[1].unknown_rank);
}

TEST_F(OrtLoad, InitializerIsAnInputThatMayBeAbsent) {
  onnx::Model graph = onnx::half_plus_three();
  graph.input("half", onnx::kFloat, Dims{});
  const auto model = load(graph);
  ASSERT_TRUE(model);
  const Signature& signature = model->info().signatures[0];
  ASSERT_EQ(signature.inputs.size(), 2u);
  EXPECT_EQ(signature.required_inputs(), 1u);
  EXPECT_EQ(signature.inputs[1].name, "half");
  EXPECT_TRUE(signature.inputs[1].may_be_absent);

  const auto scratch = model->make_scratch();
  const TestTensor<float> x(DType::Fp32, {1}, {4});
  const TestTensor<float> half(DType::Fp32, {}, {2});
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{5});
  ASSERT_TRUE(run(*model, *scratch, {x.view(), half.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{11});
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{5});
}

TEST_F(OrtLoad, OptionalTensorIsAnInputThatMayBeAbsent) {
  const onnx::Message tensor = onnx::tensor_type(onnx::kFloat, Dims{int64_t{2}});
  onnx::Model graph;
  graph.node("OptionalHasElement", {"maybe"}, {"has"});
  graph.node("Cast", {"has"}, {"y"}, {onnx::Message().bytes(1, "to").integer(3, 1).varint(20, 2)});
  graph.opset = 18;
  graph.input("maybe", onnx::optional_type(tensor)).output("y", onnx::kFloat, Dims{});
  graph.input("x", tensor);
  const auto model = load(graph);
  ASSERT_TRUE(model);
  const Signature& signature = model->info().signatures[0];
  ASSERT_EQ(signature.inputs.size(), 2u);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_FALSE(signature.inputs[0].may_be_absent);
  EXPECT_EQ(signature.inputs[1].name, "maybe");
  EXPECT_TRUE(signature.inputs[1].may_be_absent);
  EXPECT_EQ(signature.inputs[1].dims, std::vector<int64_t>{2});

  const auto scratch = model->make_scratch();
  const TestTensor<float> x(DType::Fp32, {2}, {4, 5});
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{0});
  ASSERT_TRUE(run(*model, *scratch, {x.view(), x.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{1});
}

TEST_F(OrtLoad, ExternalDataBesideTheModel) {
  const float three = 3;
  directory_.write("three.bin", {reinterpret_cast<const char*>(&three), sizeof three});
  onnx::Model graph;
  graph.external_initializer("three", onnx::kFloat, {}, "three.bin");
  graph.node("Add", {"x", "three"}, {"y"});
  graph.input("x", onnx::kFloat, Dims{std::string("n")})
      .output("y", onnx::kFloat, Dims{std::string("n")});
  const auto model = load(graph);
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const TestTensor<float> x(DType::Fp32, {1}, {4});
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{7});
}

TEST_F(OrtLoad, ExternalDataMissing) {
  onnx::Model graph;
  graph.external_initializer("three", onnx::kFloat, {}, "nowhere.bin");
  graph.node("Add", {"x", "three"}, {"y"});
  graph.input("x", onnx::kFloat, Dims{int64_t{1}}).output("y", onnx::kFloat, Dims{int64_t{1}});
  const Error error = load_error(graph);
  EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
  EXPECT_TRUE(has(error.message, "nowhere.bin")) << error.message;
}

TEST_F(OrtLoad, OwnThreadsAndEveryOptimizationLevel) {
  for (int level : {0, 1, 2, 99}) {
    for (int threads : {0, 1, 2}) {
      ModelSpec spec;
      spec.graph_optimization = level;
      spec.intra_op_threads = threads;
      spec.inter_op_threads = level == 1 ? 2 : 0;
      const auto model = load(onnx::half_plus_three(), spec);
      ASSERT_TRUE(model);
      const auto scratch = model->make_scratch();
      const TestTensor<float> x(DType::Fp32, {1}, {4});
      ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
      EXPECT_EQ(values_of<float>(scratch->outputs()[0]), std::vector<float>{5});
    }
  }
}

TEST_F(OrtLoad, BadOptions) {
  const std::string path = directory_.write("m.onnx", onnx::half_plus_three().to_bytes());
  ModelSpec spec;
  spec.graph_optimization = 5;
  EXPECT_EQ(load_error(path, spec).message,
            "graph optimization level: expected 0, 1, 2 or 99, got 5");
  spec = {};
  spec.intra_op_threads = -1;
  EXPECT_EQ(load_error(path, spec).message, "threads: expected 0 or more, got intra -1, inter 0");
}

TEST_F(OrtLoad, CpuProviderByAnyName) {
  for (const char* name : {"cpu", "CPU", "CPUExecutionProvider"}) {
    ModelSpec spec;
    spec.providers = {{name, {}}};
    const auto model = load(onnx::half_plus_three(), spec);
    ASSERT_TRUE(model);
    EXPECT_EQ(model->info().providers, std::vector<std::string>{"CPUExecutionProvider"});
  }
}

TEST_F(OrtLoad, ProviderThatTheLibraryLacks) {
  const std::string path = directory_.write("m.onnx", onnx::half_plus_three().to_bytes());
  ModelSpec spec;
  spec.providers = {{"cpu", {}}, {"warp9", {}}};
  const Error error = load_error(path, spec);
  EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
  EXPECT_TRUE(has(error.message,
                  "execution provider \"warp9\" is not in this ONNX Runtime "
                  "library; available: "))
      << error.message;
  EXPECT_TRUE(has(error.message, "CPUExecutionProvider")) << error.message;
  spec.providers = {{"cpu", {{"fast", "yes"}}}};
  EXPECT_EQ(load_error(path, spec).message,
            "execution provider \"cpu\" takes no options, got \"fast\"");
}

// CUDA and TensorRT are either used, or refused with a message that names the provider.
TEST_F(OrtLoad, GpuProvidersWorkOrSayWhy) {
  const std::string path = directory_.write("m.onnx", onnx::half_plus_three().to_bytes());
  for (const char* name : {"cuda", "tensorrt"}) {
    for (const bool bad_option : {false, true}) {
      ModelSpec spec;
      spec.path = path;
      spec.providers = {{name, {}}};
      if (bad_option) spec.providers[0].options = {{"no_such_option", "1"}};
      auto loaded = backend_->load(spec);
      if (loaded.ok()) {
        EXPECT_FALSE(bad_option);
        EXPECT_EQ(loaded.value()->info().providers.size(), 2u);
        continue;
      }
      EXPECT_EQ(loaded.error().code, ErrorCode::ModelInvalid);
      EXPECT_TRUE(has(loaded.error().message, "execution provider \"" + std::string(name) + "\""))
          << loaded.error().message;
    }
  }
}

TEST_F(OrtLoad, FileThatCannotBeRead) {
  const std::string missing = directory_.path("missing.onnx");
  EXPECT_EQ(load_error(missing).message, "model file " + missing + ": No such file or directory");
  EXPECT_EQ(load_error(missing).code, ErrorCode::ModelInvalid);
  const std::string directory = directory_.path("");
  EXPECT_EQ(load_error(directory).message,
            "model file " + directory + ": is a directory, expected an ONNX file");
  const std::string empty = directory_.write("empty.onnx", "");
  EXPECT_EQ(load_error(empty).message, "model file " + empty + ": is empty");
  const std::string pipe = directory_.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(load_error(pipe).message, "model file " + pipe + ": is not a regular file");
}

TEST_F(OrtLoad, CorruptFiles) {
  const std::string good = onnx::half_plus_three().to_bytes();
  const std::string cases[] = {"this is no protobuf at all", good.substr(0, good.size() / 2),
                               std::string(1000, '\xff')};
  for (const std::string& bytes : cases) {
    const std::string path = directory_.write("corrupt.onnx", bytes);
    const Error error = load_error(path);
    EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
    EXPECT_EQ(error.message, "model file " + path + ": Protobuf parsing failed. The file is not " +
                                 "ONNX, or it is cut short.");
  }
  const std::string path = directory_.write("empty_model.onnx", std::string("\x08\x08", 2));
  EXPECT_EQ(load_error(path).message, "model file " + path + ": ModelProto does not have a graph.");
}

// Any prefix and any changed byte of a model file leads to a result, never to a crash.
TEST_F(OrtLoad, EveryTruncationAndManyFlips) {
  const std::string good = onnx::half_plus_three().to_bytes();
  for (size_t bytes = 1; bytes < good.size(); bytes += 3) {
    const auto loaded = try_load(directory_.write("cut.onnx", good.substr(0, bytes)));
    EXPECT_TRUE(loaded.ok() || loaded.error().code == ErrorCode::ModelInvalid);
  }
  for (size_t at = 0; at < good.size(); at += 2) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
    const auto loaded = try_load(directory_.write("flipped.onnx", bytes));
    EXPECT_TRUE(loaded.ok() || loaded.error().code == ErrorCode::ModelInvalid);
  }
}

TEST_F(OrtLoad, UnsupportedOpsetAndOperator) {
  onnx::Model future = onnx::half_plus_three();
  future.opset = 9999;
  const Error opset = load_error(future);
  EXPECT_EQ(opset.code, ErrorCode::ModelInvalid);
  EXPECT_TRUE(has(opset.message, "9999")) << opset.message;
  onnx::Model unknown;
  unknown.node("Frobnicate", {"x"}, {"y"});
  unknown.input("x", onnx::kFloat, Dims{int64_t{1}}).output("y", onnx::kFloat, Dims{int64_t{1}});
  const Error op = load_error(unknown);
  EXPECT_EQ(op.code, ErrorCode::ModelInvalid);
  EXPECT_TRUE(has(op.message, "Frobnicate")) << op.message;
  onnx::Model ir = onnx::half_plus_three();
  ir.ir_version = 99;
  const Error version = load_error(ir);
  EXPECT_TRUE(has(version.message, "99")) << version.message;
}

TEST_F(OrtLoad, ValuesThatAreNoTensors) {
  const onnx::Message tensor = onnx::tensor_type(onnx::kFloat, Dims{int64_t{1}});
  onnx::Model sequence;
  sequence.node("SequenceConstruct", {"x"}, {"list"});
  sequence.input("x", tensor).output("list", onnx::sequence_type(tensor));
  EXPECT_TRUE(has(load_error(sequence).message,
                  "output \"list\" is of type sequence; only tensors are served"));
  onnx::Model optional;
  optional.node("OptionalHasElement", {"maybe"}, {"y"});
  optional.input("maybe", onnx::optional_type(onnx::sequence_type(tensor)));
  optional.output("y", onnx::kBool, Dims{});
  EXPECT_TRUE(
      has(load_error(optional).message,
          "input \"maybe\" is of type optional; only tensors are served; change the model to "
          "accept optional(tensor)"));
  onnx::Model map;
  map.node("DictVectorizer", {"pairs"}, {"y"},
           {onnx::Message().bytes(1, "int64_vocabulary").integer(8, 1).varint(20, 7)},
           "ai.onnx.ml");
  map.domains.emplace_back("ai.onnx.ml", 1);
  map.input("pairs", onnx::map_type(onnx::kInt64, onnx::tensor_type(onnx::kFloat, std::nullopt)));
  map.output("y", onnx::kFloat, std::nullopt);
  const Error error = load_error(map);
  EXPECT_TRUE(has(error.message, "input \"pairs\" is of type map; only tensors are served"))
      << error.message;
}

TEST_F(OrtLoad, ElementTypesThatAreNotServed) {
  struct Case {
    int type;
    const char* name;
    int64_t opset, ir_version;
  };
  for (const auto& [type, name, opset, ir_version] :
       {Case{onnx::kFloat8E4M3FN, "float8e4m3fn", 19, 9}, Case{onnx::kInt4, "int4", 21, 10},
        Case{onnx::kUint4, "uint4", 21, 10}}) {
    onnx::Model graph;
    graph.opset = opset;
    graph.ir_version = ir_version;
    graph.node("Cast", {"x"}, {"y"}, {onnx::attribute("to", int64_t{onnx::kFloat})});
    graph.input("x", type, Dims{int64_t{2}}).output("y", onnx::kFloat, Dims{int64_t{2}});
    const Error error = load_error(graph);
    EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
    if (has(error.message, "Unsupported model IR version")) continue;  // a library before 1.18
    EXPECT_TRUE(has(error.message,
                    "input \"x\" has element type " + std::string(name) + ", which is not served"))
        << error.message;
  }
  const Error error = load_error(onnx::identity(onnx::kComplex64));
  EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
  EXPECT_TRUE(has(error.message, "complex64")) << error.message;
}

TEST_F(OrtLoad, RankOverTheLimit) {
  const Error error = load_error(onnx::identity(onnx::kFloat, Dims(33, int64_t{1})));
  EXPECT_TRUE(has(error.message, "input \"x\" has rank 33; at most 32 is served")) << error.message;
}

}  // namespace
}  // namespace serval
