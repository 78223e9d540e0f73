// Which options of ONNX Runtime a model's configuration may set.
#include "engine/control/spec/options.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/generated/runtime_options.h"

namespace serval {
namespace {

using Pair = std::pair<std::string, std::string>;
const std::string kNul(1, '\0');

std::string session_refusal(const Pair& option) {
  ModelSpec spec;
  spec.session_config = {option};
  const Status checked = check_options(spec, {});
  if (checked.ok()) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::InvalidArgument);
  return checked.error().message;
}

std::string provider_refusal(const std::string& name, const Pair& option,
                             std::vector<std::string> own = {}) {
  ModelSpec spec;
  spec.path = "/nowhere/1/model.onnx";
  spec.providers = {{name, {option}}};
  const Status checked = check_options(spec, {{name, std::move(own)}, {"other", {option.first}}});
  return checked.ok() ? "" : checked.error().message;
}

// Returns a value that an option accepts.
std::string good_value(const RuntimeOption& option) {
  switch (option.kind) {
    case OptionKind::Switch:
    case OptionKind::Bool: return "1";
    case OptionKind::Int: return std::to_string(option.max);
    case OptionKind::Words: return std::string(option.words.substr(0, option.words.find('|')));
    case OptionKind::Affinities: return "1,2;3-4";
    case OptionKind::Shapes: return "x:1x3,/y/z:0:1x8";
    case OptionKind::List: return "-CUDNN,+CUBLAS";
    case OptionKind::Name: return "resnet-50.v1";
    case OptionKind::Path: return "engines";
  }
  return "";
}

TEST(RuntimeOptions, EachListedOptionAcceptsItsValuesAndRefusesOthers) {
  for (const RuntimeOption& option : kRuntimeOptions) {
    if (option.kind == OptionKind::Path) continue;
    const std::string name(option.name), value = good_value(option);
    const auto refusal = [&](const std::string& text) {
      return option.scope == "session" ? session_refusal({name, text})
                                       : provider_refusal(std::string(option.scope), {name, text});
    };
    EXPECT_EQ(refusal(value), "") << name;
    for (const std::string& bad :
         {std::string(), "1" + kNul, std::string("a\nb"), "\x7f" + value}) {
      EXPECT_NE(refusal(bad), "") << name << " = " << bad;
    }
    if (option.kind != OptionKind::Shapes) EXPECT_NE(refusal("/etc/passwd"), "") << name;
    if (option.kind == OptionKind::Int) {
      EXPECT_NE(refusal(std::to_string(option.min - 1)), "") << name;
      EXPECT_NE(refusal("9223372036854775808"), "") << name;
      EXPECT_NE(refusal("1x"), "") << name;
    }
  }
}

TEST(RuntimeOptions, OptionsThatNameFilesAreRefusedByName) {
  for (const char* name :
       {"session.optimized_model_filepath", "session.enable_profiling",
        "session.optimized_model_external_initializers_file_name",
        "session.collect_node_memory_stats_to_file", "session.resource_cuda_partitioning_settings",
        "session.node_partition_config_file", "session.debug_layout_transformation",
        "session.model_external_initializers_file_folder_path", "ep.context_file_path",
        "session.of_a_newer_runtime", "optimization.minimal_build_optimizations", ""}) {
    const std::string refusal = session_refusal({name, "/tmp/x"});
    EXPECT_NE(refusal.find(name), std::string::npos) << name;
    EXPECT_NE(refusal, "") << name;
  }
  EXPECT_EQ(session_refusal({"session.optimized_model_filepath", "/tmp/x"}),
            "session option 'session.optimized_model_filepath': expected one that a model's "
            "configuration may set (docs/reference/runtime-options.md), got '/tmp/x'");
}

// The runtime reads names and values up to the first NUL.
TEST(RuntimeOptions, ControlCharactersAreRefused) {
  EXPECT_EQ(session_refusal({"session.optimized_model_filepath" + kNul + "x", "/tmp/x"}),
            "session option 'session.optimized_model_filepath\\x00x': expected a name without "
            "control characters, got 'session.optimized_model_filepath\\x00x'");
  EXPECT_EQ(session_refusal({"session.disable_prepacking", "1" + kNul}),
            "session option 'session.disable_prepacking': expected a value without control "
            "characters, got '1\\x00'");
  EXPECT_NE(provider_refusal("cuda", {"device_id" + kNul, "1"}), "");
  EXPECT_NE(provider_refusal("cuda", {"device_id" + kNul, "1"}, {"device_id" + kNul}), "");
  EXPECT_NE(provider_refusal("cuda" + kNul, {"device_id", "1"}), "");
}

TEST(RuntimeOptions, LibrariesAndAddressesAreRefusedUnlessTheServerSetsThem) {
  for (const auto& [provider, name] :
       {Pair{"tensorrt", "trt_extra_plugin_lib_paths"},
        Pair{"tensorrt", "trt_engine_decryption_lib_path"}, Pair{"tensorrt", "trt_dump_subgraphs"},
        Pair{"TensorrtExecutionProvider", "trt_ep_context_file_path"},
        Pair{"cuda", "user_compute_stream"}, Pair{"cuda", "gpu_external_alloc"},
        Pair{"openvino", "load_config"}, Pair{"openvino", "cache_dir"},
        Pair{"qnn", "backend_path"}}) {
    EXPECT_NE(provider_refusal(provider, {name, "/tmp/x"}), "") << name;
    EXPECT_EQ(provider_refusal(provider, {name, "/tmp/x"}, {name}), "") << name;
  }
}

class RuntimeOptionPaths : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "serval-options-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    char* const real = realpath(name.c_str(), nullptr);
    root_ = real;
    std::free(real);
    for (const char* part : {"/m", "/m/1", "/m/1/cache", "/m/2", "/m/10"}) {
      ASSERT_EQ(mkdir((root_ + part).c_str(), 0700), 0);
    }
    ASSERT_EQ(symlink("/tmp", (root_ + "/m/1/out").c_str()), 0);
    ASSERT_EQ(symlink("/nowhere/file", (root_ + "/m/1/dangling").c_str()), 0);
    ASSERT_EQ(symlink("cache", (root_ + "/m/1/in").c_str()), 0);
    ASSERT_EQ(symlink("m", (root_ + "/link").c_str()), 0);
  }
  void TearDown() override {
    const std::string command = "rm -rf '" + root_ + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  // Returns the path that the provider receives; "" = refused.
  std::string path_of(const std::string& value,
                      const std::string& model = "/m/1/model.onnx") const {
    ModelSpec spec;
    spec.path = root_ + model;
    spec.providers = {{"tensorrt", {{"trt_engine_cache_path", value}}}};
    if (!check_options(spec, {}).ok()) return "";
    return spec.providers[0].options[0].second;
  }

  std::string root_;
};

TEST_F(RuntimeOptionPaths, StayInTheVersionFolder) {
  const std::string cache = root_ + "/m/1/cache";
  for (const std::string& value : {std::string("cache"), std::string("./cache/"), cache,
                                   std::string("in"), root_ + "/link/1/cache"}) {
    EXPECT_EQ(path_of(value), cache) << value;
  }
  EXPECT_EQ(path_of("new"), root_ + "/m/1/new");
  EXPECT_EQ(path_of("cache", "/link/1"), cache);
  for (const std::string& value :
       {std::string("/tmp"), std::string(".."), std::string("../2"), std::string("../10"),
        std::string("out"), std::string("out/new"), std::string("dangling"),
        std::string("cache/../../2"), std::string("new/.."), std::string("not/there"),
        root_ + "/m/10", std::string("/"),
        std::string("cache/.."
                    "/..")}) {
    EXPECT_EQ(path_of(value), "") << value;
  }
}

}  // namespace
}  // namespace serval
