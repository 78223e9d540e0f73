// HTTP/2 frames as bytes, built by hand: tests of the listener send valid and invalid ones. Source:
// RFC 9113 4.1, 6; headers as in RFC 7541 6.2.2 (literal, not indexed, no Huffman codes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace serval::testing {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};

enum FrameFlag : uint8_t { kEndStream = 1, kAck = 1, kEndHeaders = 4, kPadded = 8 };

enum Http2Error : uint32_t {
  kNoError = 0,
  kProtocolError = 1,
  kFlowControlError = 3,
  kStreamClosed = 5,
  kRefusedStream = 7,
  kCancel = 8,
  kCompressionError = 9,
  kEnhanceYourCalm = 11,
};

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr uint32_t kFrameBytesMax = 16'384;

inline std::string big_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return out;
}

inline uint32_t read_u32(std::string_view bytes, size_t at = 0) {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4 && i < bytes.size(); ++i) {
    value = value << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

inline std::string frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string out = big_endian(payload.size(), 3);
  out.push_back(static_cast<char>(type));
  out.push_back(static_cast<char>(flags));
  return out.append(big_endian(stream, 4)).append(payload);
}

// An integer with a prefix of `bits` bits after the bits of `first`. Source: RFC 7541 5.1.
inline std::string hpack_integer(uint8_t first, int bits, size_t value) {
  const size_t most = (1u << bits) - 1;
  if (value < most) return {static_cast<char>(first | value)};
  std::string out(1, static_cast<char>(first | most));
  for (value -= most; value >= 128; value /= 128) {
    out.push_back(static_cast<char>(value % 128 + 128));
  }
  out.push_back(static_cast<char>(value));
  return out;
}

inline std::string hpack(const HeaderList& headers) {
  std::string out;
  for (const auto& [name, value] : headers) {
    out.push_back(0);
    out.append(hpack_integer(0, 7, name.size())).append(name);
    out.append(hpack_integer(0, 7, value.size())).append(value);
  }
  return out;
}

inline std::string settings_frame(const std::vector<std::pair<uint16_t, uint32_t>>& entries = {}) {
  std::string payload;
  for (const auto& [id, value] : entries) {
    payload.append(big_endian(id, 2)).append(big_endian(value, 4));
  }
  return frame(kSettings, 0, 0, payload);
}
inline constexpr uint16_t kInitialWindow = 4;  // a setting

inline std::string window_update(uint32_t stream, uint32_t bytes) {
  return frame(kWindowUpdate, 0, stream, big_endian(bytes, 4));
}
inline std::string reset_frame(uint32_t stream, uint32_t code = kCancel) {
  return frame(kReset, 0, stream, big_endian(code, 4));
}
inline std::string ping_frame(std::string_view text = "12345678", bool ack = false) {
  return frame(kPing, ack ? kAck : 0, 0, text);
}

// The headers of a call.
inline HeaderList call_headers(std::string_view path, const HeaderList& more = {}) {
  HeaderList out{{":method", "POST"},    {":scheme", "http"}, {":path", std::string(path)},
                 {":authority", "test"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

inline std::string headers_frame(uint32_t stream, const HeaderList& headers, bool ends = false) {
  return frame(kHeaders, static_cast<uint8_t>(kEndHeaders | (ends ? kEndStream : 0)), stream,
               hpack(headers));
}

// A message after its five bytes of prefix.
inline std::string grpc_message(std::string_view content, bool packed = false) {
  std::string out(1, packed ? '\1' : '\0');
  return out.append(big_endian(content.size(), 4)).append(content);
}

// DATA frames of at most `frame_bytes` each.
inline std::string data_frames(uint32_t stream, std::string_view bytes, bool ends,
                               size_t frame_bytes = kFrameBytesMax) {
  std::string out;
  do {
    const std::string_view part = bytes.substr(0, frame_bytes);
    bytes.remove_prefix(part.size());
    out += frame(kData, ends && bytes.empty() ? kEndStream : 0, stream, part);
  } while (!bytes.empty());
  return out;
}

}  // namespace serval::testing
