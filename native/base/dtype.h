// Data types: the one table of their names and element types, and the dispatch to typed code by
// dtype. Hot and control plane, any thread.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/half.h"

namespace serval {

using DType = fb::DType;

__extension__ using Int128 = __int128;

// An element of DType::Decimal: the value times 10^scale.
struct Decimal {
  Int128 unscaled;
};

// A type as an argument.
template <typename T>
struct TypeTag {
  using type = T;
};

// Calls work(TypeTag<T>()) with the element type of `dtype` and returns its result. T is a view of
// the text for Bytes and String, void for Invalid. Chooses the dtype outside of loops: visit(dtype,
// [&]<typename T>(TypeTag<T>) { if constexpr (IsInteger<T>) ... });
template <typename Work>
constexpr decltype(auto) visit(DType dtype, Work&& work) {
  switch (dtype) {
    case DType::Bool: return work(TypeTag<bool>());
    case DType::Uint8: return work(TypeTag<uint8_t>());
    case DType::Uint16: return work(TypeTag<uint16_t>());
    case DType::Uint32: return work(TypeTag<uint32_t>());
    case DType::Uint64: return work(TypeTag<uint64_t>());
    case DType::Int8: return work(TypeTag<int8_t>());
    case DType::Int16: return work(TypeTag<int16_t>());
    case DType::Int32: return work(TypeTag<int32_t>());
    case DType::Int64: return work(TypeTag<int64_t>());
    case DType::Fp16: return work(TypeTag<Half>());
    case DType::Fp32: return work(TypeTag<float>());
    case DType::Fp64: return work(TypeTag<double>());
    case DType::Bytes: return work(TypeTag<std::string_view>());
    case DType::Bf16: return work(TypeTag<Bfloat16>());
    case DType::String: return work(TypeTag<std::string_view>());
    case DType::Date: return work(TypeTag<int64_t>());
    case DType::Timestamp: return work(TypeTag<int64_t>());
    case DType::Vector: return work(TypeTag<double>());
    case DType::Decimal: return work(TypeTag<Decimal>());
    case DType::Invalid: break;
  }
  return work(TypeTag<void>());
}

// Classes of elements.
template <typename T>
concept IsInteger = std::integral<T> && !std::same_as<T, bool>;
template <typename T>
concept IsHalf = std::same_as<T, Half> || std::same_as<T, Bfloat16>;
template <typename T>
concept IsReal = std::floating_point<T> || IsHalf<T>;
template <typename T>
concept IsNumber = IsInteger<T> || IsReal<T>;

// Bytes of one element; 0 for Bytes, String and Invalid.
constexpr size_t dtype_bytes(DType dtype) {
  return visit(dtype, []<typename T>(TypeTag<T>) -> size_t {
    if constexpr (std::is_void_v<T> || std::same_as<T, std::string_view>) return 0;
    else return sizeof(T);
  });
}

// Elements are views of text: TensorView::strings.
constexpr bool dtype_is_text(DType dtype) {
  return dtype == DType::Bytes || dtype == DType::String;
}

// For tabular models only: no other model has tensors of it.
constexpr bool dtype_is_tabular(DType dtype) { return dtype >= DType::String; }

// FP16, BF16, FP32, FP64; VECTOR for tabular models.
constexpr bool dtype_is_real(DType dtype) {
  return visit(dtype, []<typename T>(TypeTag<T>) { return IsReal<T>; });
}

// Whether every bit pattern is a valid value. Values that kernels check before they use them
// (indices and divisors of 32 and 64 bits, BOOL) do not qualify, since they could change in
// between.
constexpr bool dtype_takes_any_bits(DType dtype) {
  return visit(dtype, []<typename T>(TypeTag<T>) {
    if constexpr (std::is_void_v<T>) return false;
    else if constexpr (IsReal<T>) return true;
    else return IsInteger<T> && sizeof(T) <= 2;
  });
}

// The dtype whose elements are T.
template <typename T>
constexpr DType dtype_for() {
  for (auto dtype = DType::MIN; dtype != DType::MAX;) {
    dtype = static_cast<DType>(static_cast<uint8_t>(dtype) + 1);
    if (visit(dtype, []<typename E>(TypeTag<E>) { return std::same_as<E, T>; })) return dtype;
  }
  return DType::Invalid;
}

struct DTypeNames {
  std::string_view v2;
  std::string_view tf;  // lower-case, as in TensorFlow Serving's texts
  int32_t onnx;         // TensorProto.DataType; the same numbers as ONNX Runtime's element types
};

// In the order of engine.fbs.
inline constexpr std::array<DTypeNames, 20> kDTypeNames = {
    {{"INVALID", "invalid", 0}, {"BOOL", "bool", 9},      {"UINT8", "uint8", 2},
     {"UINT16", "uint16", 4},   {"UINT32", "uint32", 12}, {"UINT64", "uint64", 13},
     {"INT8", "int8", 3},       {"INT16", "int16", 5},    {"INT32", "int32", 6},
     {"INT64", "int64", 7},     {"FP16", "half", 10},     {"FP32", "float", 1},
     {"FP64", "double", 11},    {"BYTES", "string", 8},   {"BF16", "bfloat16", 16},
     {"STRING", "string", -1},  {"DATE", "string", -1},   {"TIMESTAMP", "string", -1},
     {"VECTOR", "double", -1},  {"FP64", "double", -1}}};

// The V2 protocol's name ("FP32"); "INVALID" for Invalid.
constexpr std::string_view dtype_name(DType dtype) {
  return kDTypeNames[static_cast<size_t>(dtype)].v2;
}

// TensorFlow's name; "invalid" for Invalid.
constexpr std::string_view dtype_tf_name(DType dtype) {
  return kDTypeNames[static_cast<size_t>(dtype)].tf;
}

// ONNX's number; 0 (undefined) for Invalid, -1 for types that ONNX does not have.
constexpr int32_t dtype_onnx(DType dtype) { return kDTypeNames[static_cast<size_t>(dtype)].onnx; }

// The dtype for V2's name (FP64 is Fp64, never Decimal); Invalid if unknown. Case-sensitive, as in
// the protocol.
constexpr DType dtype_from_name(std::string_view name) {
  for (size_t i = 1; i < kDTypeNames.size(); ++i) {
    if (kDTypeNames[i].v2 == name) return static_cast<DType>(i);
  }
  return DType::Invalid;
}

// The dtype for ONNX's number; Invalid if there is none.
constexpr DType dtype_from_onnx(int64_t number) {
  if (number <= 0) return DType::Invalid;
  for (size_t i = 1; i < kDTypeNames.size(); ++i) {
    if (kDTypeNames[i].onnx == number) return static_cast<DType>(i);
  }
  return DType::Invalid;
}

}  // namespace serval
