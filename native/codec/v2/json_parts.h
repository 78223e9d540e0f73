// Helpers shared by the fast and the plain decoder of V2 JSON: the split of the body, the binary
// section, the raw form, and conversion of numbers to 32 and 16 bit floats. Hot path; pure, any
// thread.
// Source: v2-protocol.md 1.1-1.3.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/dtype.h"
#include "codec/v2/json.h"

namespace serval::v2 {

struct Body {
  std::string_view json;
  std::span<const uint8_t> binary;
  bool has_header = false;  // the header gave the length of the JSON
};

// Errors: malformed_body when json_bytes exceeds the body, or the body is empty.
Status split_body(std::span<const uint8_t> body, int64_t json_bytes, Body& out);

// Reads the body as the raw data of the model's only input, json_bytes being 0. Batch and other
// free dimensions: a single free dimension follows from the size; of two, the first is 1. BYTES:
// the body is the only element, without a length prefix. All outputs binary.
Status decode_raw_form(std::span<const uint8_t> body, const Signature& signature, Arena& arena,
                       DecodedRequest& out);

// A tensor in the binary section, in the order of the request's inputs. Its dtype and shape are
// already in the decoded request.
struct BinaryInput {
  uint32_t index;
  uint64_t bytes;
};

// Errors: invalid_argument naming the input whose bytes are missing or do not match its shape, or
// the number of bytes left over.
Status read_binary_section(const Signature& signature, std::span<const BinaryInput> tensors,
                           const Body& body, Arena& arena, DecodedRequest& out);

// Request parameters that place a request in the queue.
inline constexpr std::string_view kPriorityKey = "priority";
inline constexpr std::string_view kTimeoutKey = "timeout";
// Request parameters of a sequence.
inline constexpr std::string_view kSequenceIdKey = "sequence_id";
inline constexpr std::string_view kSequenceStartKey = "sequence_start";
inline constexpr std::string_view kSequenceEndKey = "sequence_end";

// Parses `text`, a JSON value, as a whole number of 0 or more. False: it is something else, or over
// 64 bits.
bool whole_number(std::string_view text, uint64_t& out);

// The error for a parameter that has to be a whole number of `least` or more.
Error not_whole(const std::string& where, std::string_view key, uint64_t least,
                std::string_view text);

// One entry of "outputs".
struct ListedOutput {
  uint32_t index;
  bool has_binary;
  bool binary;
  uint32_t classes;
  uint32_t shared = 0;  // as in RequestedOutput
};

// Converts the parameter classification for RequestedOutput. Limited: the texts of more classes
// would not fit a response.
inline uint32_t listed_classes(uint64_t classes) {
  return static_cast<uint32_t>(std::min<uint64_t>(classes, UINT32_MAX));
}

// Fills out.outputs: those listed, in that order, or all in the model's order.
void choose_outputs(const Signature& signature, std::span<const ListedOutput> listed,
                    bool binary_by_default, DecodedRequest& out);

// Converts to T the number whose text is [begin, end) and whose nearest double is `value`, rounding
// to nearest. False: finite, but out of T's range.
template <typename T>
inline bool to_real(double value, const char*, const char*, T& out) {
  out = T(value);
  return std::same_as<T, double> || !std::isinf(static_cast<float>(out)) || std::isinf(value);
}

// Double rounding is only wrong if the double is half-way between two floats (or the float is
// subnormal): those are parsed again.
inline bool to_real(double value, const char* begin, const char* end, float& out) {
  out = static_cast<float>(value);
  const auto bits = std::bit_cast<uint64_t>(value);
  const bool half_way = (bits & 0x1fffffffu) == 0x10000000u;
  const bool subnormal = std::fabs(out) < std::numeric_limits<float>::min();
  if (half_way || subnormal) [[unlikely]] {
    float exact = 0;
    if (value != 0 && std::from_chars(begin, end, exact).ec == std::errc{}) out = exact;
  }
  return !std::isinf(out) || std::isinf(value);
}

}  // namespace serval::v2
