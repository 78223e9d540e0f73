// gRPC's texts in HTTP/2 headers: time limits, percent-encoded messages, binary metadata. Pure; any
// thread. Source: gRPC over HTTP2 (PROTOCOL-HTTP2.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace serval {

// Whether a content type is gRPC's.
constexpr bool is_grpc_type(std::string_view value) {
  constexpr std::string_view kType = "application/grpc";
  return value.substr(0, kType.size()) == kType &&
         (value.size() == kType.size() || value[kType.size()] == '+' || value[kType.size()] == ';');
}

// "100m" as nanoseconds (at most UINT64_MAX / 2); nothing where it is none: 1 to 8 digits and one
// of H M S m u n.
std::optional<uint64_t> parse_timeout_ns(std::string_view text);

// Status messages: what is no printable ASCII, "%", and a space at either end, as %XX of its UTF-8.
void append_percent_encoded(std::string_view text, std::string& out);
// The longest beginning of `text` that has at most `bytes_max` bytes and `encoded_bytes_max`
// encoded, cut between characters and ending in "..." where it is cut. What is no UTF-8 becomes
// U+FFFD. The same as safeDetails() of ts/listeners/grpc/call.ts with 4096 and 6144, so `encoded`
// counts as encodeURI does, which encodes no less than append_percent_encoded().
std::string cut_status_message(std::string_view text, size_t bytes_max, size_t encoded_bytes_max);
inline constexpr size_t kStatusBytesMax = 4096;
inline constexpr size_t kStatusEncodedBytesMax = 6144;

// Values of "-bin" metadata: standard base64; padding is written by nobody and read if it is there.
void append_base64(std::string_view bytes, std::string& out);
// `out` becomes the bytes. False where it is none (`out` is empty then). Values joined by "," are
// several; they are read by the caller.
bool decode_base64(std::string_view text, std::string& out);

}  // namespace serval
