// Reads tensor data of V2 bodies: one loop per type, directly from text to tensor memory. Hot path;
// pure, any thread. nullptr = rejected. Nothing recurses: nested lists are flattened while reading.
#include "codec/v2/json_fast.h"

#include <bit>
#include <cstring>

#include "codec/json/number.h"
#include "codec/v2/json_parts.h"

namespace serval::v2 {

namespace {

// Whether a character is neither blank nor bracket.
inline bool begins_element(char c) { return c > ' ' && c != '[' && c != ']'; }

// Reads exactly `count` tensor elements in nested or flat lists. read(p, i) reads element i.
template <typename Read>
const char* read_elements(const char* p, FastBody& body, uint64_t count, uint32_t depth_max,
                          Read read) {
  uint32_t depth = 0;
  uint64_t found = 0;
  for (;;) {
    p = skip_blanks(p, body.end);
    if (p >= body.end) return nullptr;
    if (*p == '[') {
      if (++depth > depth_max) return nullptr;
      p = skip_blanks(p + 1, body.end);
      if (*p != ']') continue;
    } else {
      if (depth == 0) return nullptr;
      // Handles elements separated by bare commas without leaving this loop.
      for (;;) {
        if (found == count || p >= body.end) return nullptr;
        p = read(p, found++);
        if (p == nullptr) return nullptr;
        if (*p != ',' || !begins_element(p[1])) break;
        ++p;
      }
      p = skip_blanks(p, body.end);
    }
    while (*p == ']' && p < body.end) {
      ++p;
      if (--depth == 0) return found == count ? p : nullptr;
      p = skip_blanks(p, body.end);
    }
    if (*p != ',') return nullptr;
    ++p;
  }
}

template <typename T>
const char* read_integers(const char* p, FastBody& body, uint64_t count, uint32_t depth_max,
                          void* memory) {
  auto* out = static_cast<T*>(memory);
  return read_elements(p, body, count, depth_max, [&](const char* at, uint64_t i) {
    return read_integer<T>(at, body.end, out[i]);
  });
}

template <typename T>
const char* read_reals(const char* p, FastBody& body, uint64_t count, uint32_t depth_max,
                       void* memory) {
  auto* out = static_cast<T*>(memory);
  return read_elements(p, body, count, depth_max, [&](const char* at, uint64_t i) {
    double value = 0;
    const char* end = read_double(at, body.end, value);
    const bool good = end != nullptr && to_real(value, at, end, out[i]);
    return good ? end : nullptr;
  });
}

const char* read_bools(const char* p, FastBody& body, uint64_t count, uint32_t depth_max,
                       void* memory) {
  auto* out = static_cast<uint8_t*>(memory);
  return read_elements(p, body, count, depth_max, [&](const char* at, uint64_t i) {
    bool value = false;
    at = read_bool(at, body, value);
    out[i] = value;
    return at;
  });
}

const char* read_strings(const char* p, FastBody& body, uint64_t count, uint32_t depth_max,
                         void* memory) {
  auto* out = static_cast<std::string_view*>(memory);
  return read_elements(p, body, count, depth_max,
                       [&](const char* at, uint64_t i) { return read_string(at, body, out[i]); });
}

const char* read_typed(const char* p, FastBody& body, DType dtype, uint64_t count, uint32_t depth,
                       void* memory) {
  return visit(dtype, [&]<typename T>(TypeTag<T>) -> const char* {
    if constexpr (std::same_as<T, bool>) return read_bools(p, body, count, depth, memory);
    else if constexpr (IsInteger<T>) return read_integers<T>(p, body, count, depth, memory);
    else if constexpr (IsReal<T>) return read_reals<T>(p, body, count, depth, memory);
    else if constexpr (std::same_as<T, std::string_view>)
      return read_strings(p, body, count, depth, memory);
    else return nullptr;
  });
}

}  // namespace

const char* read_bool(const char* p, FastBody& body, bool& out) {
  const auto left = static_cast<size_t>(body.end - p);
  out = *p == 't';
  if (out) return left >= 4 && std::memcmp(p, "true", 4) == 0 ? p + 4 : nullptr;
  return left >= 5 && std::memcmp(p, "false", 5) == 0 ? p + 5 : nullptr;
}

const char* read_data(const char* p, FastBody& body, uint32_t depth_max, TensorView& tensor) {
  const auto count = tensor.shape.elements();
  // Every element takes at least one byte of text, so the body bounds the memory.
  if (!count || *count > static_cast<uint64_t>(body.end - p)) return nullptr;
  const bool strings = tensor.dtype == DType::Bytes;
  const size_t bytes = *count * (strings ? sizeof(std::string_view) : dtype_bytes(tensor.dtype));
  void* memory = body.arena.allocate(bytes);
  if (memory == nullptr) return nullptr;
  if (strings) {
    tensor.strings = {static_cast<std::string_view*>(memory), *count};
  } else {
    tensor.data = static_cast<uint8_t*>(memory);
    tensor.bytes = bytes;
  }
  return read_typed(p, body, tensor.dtype, *count, depth_max, memory);
}

const char* skip_list_unread(const char* p, const char* end) {
  size_t depth = 0;
  while (p < end) {
    // '[' and ']' (and 'Y', '_') are equal in these bits
    uint32_t mask = cpu::marks_and_quotes<static_cast<uint8_t>(~0x06), '['>(p);
    const char* next = p + 32;
    for (; mask != 0; mask &= mask - 1) {
      const char* at = p + std::countr_zero(mask);
      if (at >= end) return nullptr;
      if (*at == '[') {
        ++depth;
      } else if (*at == ']') {
        if (--depth == 0) return at + 1;
      } else if (*at == '"') {
        std::string_view unused;
        next = read_plain_string(at, end, unused);
        if (next == nullptr) return nullptr;
        break;
      }
    }
    p = next;
  }
  return nullptr;
}

}  // namespace serval::v2
