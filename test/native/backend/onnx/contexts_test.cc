// EPContext nodes: how they are found in a model's bytes, and why a model that has them cannot be
// loaded.
#include "backend/onnx/contexts.h"

#include <filesystem>

#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using onnx::Message;
using ort::ContextNode;
using Contexts = OnnxRuntimeTest;
using Strings = std::vector<std::string>;

constexpr const char* kTensorrt = "TensorrtExecutionProvider";
constexpr const char* kCuda = "CUDAExecutionProvider";

Message text_attribute(std::string_view name, std::string_view value) {
  return Message().bytes(1, name).bytes(4, value).varint(20, 3);
}

std::vector<Message> by_file(std::string_view file, std::string_view source = kTensorrt) {
  return {onnx::attribute("embed_mode", int64_t{0}), text_attribute("ep_cache_context", file),
          text_attribute("source", source)};
}

onnx::Model context_model(const std::vector<Message>& attributes,
                          std::string_view domain = "com.microsoft") {
  onnx::Model model;
  model.domains = {{"com.microsoft", 1}};
  model.node("EPContext", {"x"}, {"y"}, attributes, domain);
  model.input("x", onnx::kFloat, std::vector<Dim>{int64_t{2}});
  return model.output("y", onnx::kFloat, std::vector<Dim>{int64_t{2}});
}

std::vector<ContextNode> found_in(const onnx::Model& model) {
  const std::string bytes = model.to_bytes();
  return ort::find_contexts(ort::bytes_of(bytes));
}

TEST(FindContexts, NameSourceAndFile) {
  const auto found = found_in(context_model(by_file("engines/a.engine")));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "EPContext_0");
  EXPECT_EQ(found[0].source, kTensorrt);
  EXPECT_EQ(found[0].file, "engines/a.engine");
  EXPECT_TRUE(found[0].names_file);
}

TEST(FindContexts, ContentInTheNodeIsNoFileAndIsTheDefault) {
  for (const std::vector<Message>& attributes :
       {std::vector{text_attribute("ep_cache_context", "ftrt")},
        std::vector{onnx::attribute("embed_mode", int64_t{1}),
                    text_attribute("ep_cache_context", "ftrt")}}) {
    const auto found = found_in(context_model(attributes));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_FALSE(found[0].names_file);
    EXPECT_EQ(found[0].file, "");
  }
  std::vector<Message> elsewhere = by_file("a.engine");
  elsewhere.push_back(onnx::attribute("main_context", int64_t{0}));
  EXPECT_FALSE(found_in(context_model(elsewhere))[0].names_file);
}

TEST(FindContexts, InBodiesAndFunctions) {
  onnx::Model body = context_model(by_file("in-body"));
  onnx::Model model;
  model.node("If", {"c"}, {"y"}, {onnx::graph_attribute("then_branch", body.graph)});
  ASSERT_EQ(found_in(model).size(), 1u);
  EXPECT_EQ(found_in(model)[0].file, "in-body");
  const std::string function =
      Message()
          .message(25, Message().bytes(1, "f").bytes(
                           7, Message().bytes(4, "EPContext").bytes(7, "com.microsoft").str()))
          .str();
  EXPECT_EQ(ort::find_contexts(ort::bytes_of(function)).size(), 1u);
}

TEST(FindContexts, NoneOfAnotherDomainOrOfWhatIsNoModel) {
  EXPECT_TRUE(found_in(context_model(by_file("a"), "mine")).empty());
  EXPECT_TRUE(found_in(onnx::half_plus_three()).empty());
  std::string bytes = context_model(by_file("a")).to_bytes();
  bytes.resize(bytes.size() - 3);
  EXPECT_TRUE(ort::find_contexts(ort::bytes_of(bytes)).empty());
}

class CheckContexts : public ::testing::Test {
 protected:
  // Returns the error's text; "" = none.
  std::string check(const ContextNode& node, const Strings& asked = {"tensorrt", "cuda"},
                    const Strings& available = {kTensorrt, kCuda, "CPUExecutionProvider"}) {
    Status status = ort::check_contexts({&node, 1}, path_, asked, available);
    code_ = status.ok() ? ErrorCode::Ok : status.error().code;
    return status.ok() ? "" : status.error().message;
  }
  ContextNode node(std::string file, std::string source = kTensorrt) {
    return {.name = "N", .source = std::move(source), .file = std::move(file), .names_file = true};
  }
  std::string begin(const std::string& source = kTensorrt) {
    return "model file " + path_ + ": node 'N' (EPContext) holds an engine of " + source;
  }

  onnx::TemporaryDirectory directory_;
  const std::string path_ = directory_.write("model.onnx", "model");
  ErrorCode code_ = ErrorCode::Ok;
};

TEST_F(CheckContexts, ItsProviderMustBeAskedFor) {
  const ContextNode embedded{.name = "N", .source = kTensorrt};
  EXPECT_EQ(check(embedded), "");
  EXPECT_EQ(check(embedded, {kTensorrt}), "");
  EXPECT_EQ(check({.name = "N"}), "") << "no source is TensorRT's";
  EXPECT_EQ(check({.name = "N"}, {"cuda"}),
            begin() +
                " (no source is given): expected tensorrt among the model's providers, got "
                "cuda: serval gpu install --tensorrt");
  for (const auto& [asked, got] :
       {std::pair<Strings, const char*>{{"cuda"}, "cuda"}, {{}, "cpu"}}) {
    EXPECT_EQ(check(embedded, asked), begin() +
                                          ": expected tensorrt among the model's providers, "
                                          "got " +
                                          got + ": serval gpu install --tensorrt");
    EXPECT_EQ(code_, ErrorCode::ModelInvalid);
  }
}

TEST_F(CheckContexts, WhatTheLibraryHasNotIsSaidSo) {
  const Strings cpu = {"CPUExecutionProvider"};
  EXPECT_EQ(check({.name = "N", .source = kTensorrt}, {"tensorrt"}, cpu),
            begin() +
                ": it needs the provider tensorrt, which this ONNX Runtime library does not have; "
                "it has CPUExecutionProvider: serval gpu install --tensorrt");
  EXPECT_EQ(code_, ErrorCode::RuntimeUnavailable);
  for (const char* source : {"QNNExecutionProvider", "NvTensorRTRTXExecutionProvider"}) {
    EXPECT_EQ(check({.name = "N", .source = source}, {"tensorrt"}, cpu),
              begin(source) + ": no provider of this server runs that: it needs " +
                  ort::short_provider(source) +
                  ", which this ONNX Runtime library does not have; it has CPUExecutionProvider");
    EXPECT_EQ(code_, ErrorCode::ModelInvalid);
  }
  EXPECT_EQ(check({.name = "N", .source = "OpenVINOExecutionProvider"}, {"openvino"},
                  {"OpenVINOExecutionProvider"}),
            "");
}

TEST_F(CheckContexts, TheFileIsInTheModelsFolder) {
  std::filesystem::create_directory(directory_.path("engines"));
  directory_.write("engines/a.engine", "ftrt");
  directory_.write("empty", "");
  EXPECT_EQ(check(node("engines/a.engine")), "");
  EXPECT_EQ(check(node("./engines/a.engine")), "");
  const auto refused = [this](const std::string& file, const std::string& why) {
    EXPECT_EQ(check(node(file)), begin() + " in the file '" + file + "': " + why);
    EXPECT_EQ(code_, ErrorCode::ModelInvalid);
  };
  const std::string place = "expected a file in the model's folder, by a path without '..'";
  const std::string absolute = directory_.path("engines/a.engine");
  for (const std::string& file : Strings{absolute, "../a.engine", "engines/../engines/a.engine", "",
                                         std::string("engines\0/a", 10)}) {
    refused(file, place);
  }
  refused("b.engine", "No such file or directory (" + directory_.path("b.engine") + ")");
  refused("engines", "is not a regular file");
  refused("empty", "is empty");
}

TEST_F(CheckContexts, LinksLeadNowhereElse) {
  const onnx::TemporaryDirectory other;
  const std::string engine = other.write("a.engine", "ftrt");
  std::filesystem::create_symlink(engine, directory_.path("out.engine"));
  EXPECT_EQ(check(node("out.engine")),
            begin() + " in the file 'out.engine': is a link out of the model's folder");
  directory_.write("real.engine", "ftrt");
  std::filesystem::create_symlink("real.engine", directory_.path("in.engine"));
  EXPECT_EQ(check(node("in.engine")), "");
  // A cache where the model and its engine are links into a store.
  const std::string model = other.write("model", "model");
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(model, path_);
  EXPECT_EQ(check(node("out.engine")), "");
}

TEST_F(Contexts, WithoutTensorRTTheErrorNamesWhatIsMissing) {
  directory_.write("a", "ftrt");
  const std::string path = directory_.write("model.onnx", context_model(by_file("a")).to_bytes());
  const std::string begin =
      "model file " + path + ": node 'EPContext_0' (EPContext) holds an engine of " + kTensorrt;
  const std::string end = ": serval gpu install --tensorrt";
  EXPECT_EQ(load_error(path).message,
            begin + ": expected tensorrt among the model's providers, got cpu" + end);
  ModelSpec spec;
  spec.providers = {{.name = "tensorrt", .options = {}}};
  const std::string refused = load_error(path, spec).message;
  EXPECT_TRUE(refused.starts_with(begin + ": execution provider \"tensorrt\"")) << refused;
  EXPECT_TRUE(refused.ends_with(end)) << refused;
}

}  // namespace
}  // namespace serval
