// Names of data types in the two protocols. Hot and control plane, any thread.
#include "base/dtype.h"

#include <array>

namespace serval {

namespace {

struct Names {
  std::string_view v2;
  std::string_view tf;
};

// In the order of engine.fbs.
constexpr std::array<Names, 15> kNames = {{{"INVALID", "invalid"},
                                           {"BOOL", "bool"},
                                           {"UINT8", "uint8"},
                                           {"UINT16", "uint16"},
                                           {"UINT32", "uint32"},
                                           {"UINT64", "uint64"},
                                           {"INT8", "int8"},
                                           {"INT16", "int16"},
                                           {"INT32", "int32"},
                                           {"INT64", "int64"},
                                           {"FP16", "half"},
                                           {"FP32", "float"},
                                           {"FP64", "double"},
                                           {"BYTES", "string"},
                                           {"BF16", "bfloat16"}}};

}  // namespace

std::string_view dtype_name(DType dtype) { return kNames[static_cast<size_t>(dtype)].v2; }

std::string_view dtype_tf_name(DType dtype) { return kNames[static_cast<size_t>(dtype)].tf; }

DType dtype_from_name(std::string_view name) {
  for (size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i].v2 == name) return static_cast<DType>(i);
  }
  return DType::Invalid;
}

}  // namespace serval
