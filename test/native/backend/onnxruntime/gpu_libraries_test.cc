// Which files beside ONNX Runtime's library are opened before a GPU provider, and how files that
// are not libraries are handled.
#include "backend/onnxruntime/gpu_libraries.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace serval::ort {
namespace {

TEST(GpuLibraries, AreNvidiasByName) {
  for (const char* name :
       {"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcurand.so.10",
        "libcufft.so.12", "libcudnn.so.9", "libcudnn_ops.so.9", "libnvrtc.so.13",
        "libnvrtc-builtins.so.13.0", "libnvJitLink.so.13"}) {
    EXPECT_TRUE(is_gpu_library(name, false)) << name;
    EXPECT_TRUE(is_gpu_library(name, true)) << name;
  }
  for (const char* name : {"libnvinfer.so.10", "libnvinfer_plugin.so.10", "libnvonnxparser.so.10",
                           "libnvinfer_builder_resource_sm90.so.10.16.1"}) {
    EXPECT_FALSE(is_gpu_library(name, false)) << name;
    EXPECT_TRUE(is_gpu_library(name, true)) << name;
  }
  for (const char* name :
       {"libcurl.so.4", "libcups.so.2", "libonnxruntime.so.1.30.0", "libcudart.so.13.part",
        "libonnxruntime_providers_cuda.so", "libcuda.so.1", "libnvidia-ml.so.1", "libcudart.a",
        "installed.json", ".", ""}) {
    EXPECT_FALSE(is_gpu_library(name, true)) << name;
  }
}

TEST(GpuLibraries, WhatIsNoLibraryIsNamedAndHarmsNobody) {
  std::string folder = std::filesystem::temp_directory_path() / "serval-gpu-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/libcudart.so.13") << "no library";
  std::ofstream(folder + "/libnvinfer.so.10") << "neither";
  const std::string runtime = folder + "/libonnxruntime.so.1";
  EXPECT_EQ(open_gpu_libraries(runtime, false), std::vector<std::string>{"libcudart.so.13"});
  EXPECT_EQ(open_gpu_libraries(runtime, true),
            (std::vector<std::string>{"libcudart.so.13", "libnvinfer.so.10"}));
  std::filesystem::remove_all(folder);
}

TEST(GpuLibraries, ABareNameAndAFolderThatIsNotThereHaveNone) {
  EXPECT_TRUE(open_gpu_libraries("libonnxruntime.so.1", true).empty());
  EXPECT_TRUE(open_gpu_libraries("/nonexistent/libonnxruntime.so.1", true).empty());
}

}  // namespace
}  // namespace serval::ort
