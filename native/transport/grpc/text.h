// gRPC's texts in HTTP/2 headers: time limits, percent-encoded messages, binary metadata. Pure; any
// thread. Source: gRPC over HTTP2 (PROTOCOL-HTTP2.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace serval {

// Whether a content type is one of gRPC's.
constexpr bool is_grpc_type(std::string_view value) {
  constexpr std::string_view kType = "application/grpc";
  return value.substr(0, kType.size()) == kType &&
         (value.size() == kType.size() || value[kType.size()] == '+' || value[kType.size()] == ';');
}

// Parses "100m" to nanoseconds (at most UINT64_MAX / 2); nothing if the text is not 1 to 8 digits
// and one of H M S m u n.
std::optional<uint64_t> parse_timeout_ns(std::string_view text);

// Encodes a status message: bytes that are not printable ASCII, "%", and a space at either end
// become %XX (of the UTF-8).
void append_percent_encoded(std::string_view text, std::string& out);
// The longest prefix of `text` with at most `bytes_max` bytes and `encoded_bytes_max` encoded
// bytes, cut between characters; it ends in "..." if it was cut. Invalid UTF-8 becomes U+FFFD.
// Equals safeDetails() of ts/listeners/grpc/call.ts with 4096 and 6144, so the encoded length
// counts as encodeURI encodes, which is never less than append_percent_encoded().
std::string cut_status_message(std::string_view text, size_t bytes_max, size_t encoded_bytes_max);
inline constexpr size_t kStatusBytesMax = 4096;
inline constexpr size_t kStatusEncodedBytesMax = 6144;

// Values of "-bin" metadata: standard base64. Padding is never written, and accepted when read.
void append_base64(std::string_view bytes, std::string& out);
// Decodes base64 into `out`. False: the text is invalid (`out` is then empty). A "," separates
// several values; the caller splits them.
bool decode_base64(std::string_view text, std::string& out);

}  // namespace serval
