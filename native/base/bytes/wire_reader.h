// Reads protobuf wire format: one field after the other, every byte bounds-checked, nothing thrown,
// no recursion. Hot path, any thread. Borrows the bytes; knows no message.
// Ours rather than protozero's reader: that one throws, and finds unknown groups out of order.
// Source: protobuf.dev "Encoding".
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/bytes/utf8.h"

namespace serval {

enum class WireType : uint32_t {
  Varint = 0,
  Fixed64 = 1,
  Bytes = 2,
  StartGroup = 3,
  EndGroup = 4,
  Fixed32 = 5
};

// A field's number and wire type as they stand on the wire: what a switch compares.
constexpr uint32_t wire_tag(uint32_t number, WireType type) {
  return number << 3 | static_cast<uint32_t>(type);
}

// Groups (proto2) are skipped; protobuf's own decoders stop at the same depth.
inline constexpr size_t kWireGroupDepthMax = 100;

// The first thing that is wrong with a message. `reason` is null while nothing is.
struct WireFault {
  const char* reason = nullptr;
  size_t offset = 0;  // in the outermost message
};

struct WireField {
  uint32_t tag = 0;                // wire_tag()
  uint64_t value = 0;              // Varint, Fixed32, Fixed64
  std::span<const uint8_t> bytes;  // Bytes

  uint32_t number() const { return tag >> 3; }
  WireType type() const { return static_cast<WireType>(tag & 7u); }
};

class WireReader {
 public:
  // `origin`: first byte of the outermost message, for offsets. The first fault is kept.
  WireReader(std::span<const uint8_t> bytes, const uint8_t* origin, WireFault& fault)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), origin_(origin), fault_(fault) {}

  // The next field with its value; false at the end or at a fault (then fault.reason is set).
  // A caller ignores tags it does not know: that skips unknown fields and, as protobuf does, known
  // numbers of another wire type. Groups are skipped here.
  bool next(WireField& field) {
    while (at_ != end_) {
      const uint8_t* start = at_;
      uint64_t tag = 0;
      if (!read_varint(tag)) return false;
      if (tag > UINT32_MAX || at_ - start > 5) return fail("field tag over 32 bits", start);
      if (tag < 8) return fail("field number 0", start);
      field.tag = static_cast<uint32_t>(tag);
      if (field.type() != WireType::StartGroup) return read_value(field, start);
      if (!skip_group(field.number(), start)) return false;
    }
    return false;
  }

  bool read_varint(uint64_t& value) {
    if (at_ != end_ && *at_ < 0x80) {
      value = *at_++;
      return true;
    }
    return read_long_varint(value);
  }

  bool at_end() const { return at_ == end_; }

  // Takes a string field; proto3 wants UTF-8.
  bool text(const WireField& field, std::string_view& out) {
    out = {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
    return is_text(out) || fail("string that is not valid UTF-8", field.bytes.data());
  }

  // Notes the first fault; always false.
  bool fail(const char* reason, const uint8_t* at) {
    if (fault_.reason == nullptr) fault_ = {reason, static_cast<size_t>(at - origin_)};
    return false;
  }

 private:
  static bool is_text(std::string_view text) {
    const char* at = text.data();
    size_t left = text.size();
    uint64_t high = 0;
    for (; left >= 8; at += 8, left -= 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      high |= word;
    }
    for (; left > 0; --left) high |= static_cast<uint8_t>(*at++);
    return (high & 0x8080808080808080u) == 0 || is_valid_utf8(text);
  }

  bool read_long_varint(uint64_t& value) {
    const uint8_t* start = at_;
    value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at_ == end_) return fail("varint cut off", start);
      const uint8_t byte = *at_++;
      if (shift == 63 && byte > 1) return fail("varint over 64 bits", start);
      value |= static_cast<uint64_t>(byte & 0x7fu) << shift;
      if (byte < 0x80) return true;
    }
  }

  template <typename T>
  bool read_fixed(uint64_t& value, const uint8_t* start) {
    if (static_cast<size_t>(end_ - at_) < sizeof(T)) return fail("fixed-size value cut off", start);
    T fixed;
    std::memcpy(&fixed, at_, sizeof(T));
    value = fixed;
    at_ += sizeof(T);
    return true;
  }

  // The value behind a tag that stood at `start`; not of a group.
  bool read_value(WireField& field, const uint8_t* start) {
    switch (field.type()) {
      case WireType::Varint: return read_varint(field.value);
      case WireType::Fixed64: return read_fixed<uint64_t>(field.value, start);
      case WireType::Fixed32: return read_fixed<uint32_t>(field.value, start);
      case WireType::Bytes: {
        uint64_t length = 0;
        if (!read_varint(length)) return false;
        if (length > static_cast<size_t>(end_ - at_)) {
          return fail("length past the end of its message", start);
        }
        field.bytes = {at_, static_cast<size_t>(length)};
        at_ += length;
        return true;
      }
      case WireType::EndGroup: return fail("end of a group that was not begun", start);
      case WireType::StartGroup: break;
    }
    return fail("unknown wire type", start);
  }

  // Reads on to the end of group `number`, whose tag stood at `start`.
  [[gnu::noinline]] bool skip_group(uint32_t number, const uint8_t* start) {
    std::array<uint32_t, kWireGroupDepthMax> open;
    size_t depth = 1;
    open[0] = number;
    while (depth != 0) {
      if (at_ == end_) return fail("group that is not ended", start);
      const uint8_t* tag_start = at_;
      WireField field;
      uint64_t tag = 0;
      if (!read_varint(tag)) return false;
      if (tag > UINT32_MAX || at_ - tag_start > 5) return fail("field tag over 32 bits", tag_start);
      if (tag < 8) return fail("field number 0", tag_start);
      field.tag = static_cast<uint32_t>(tag);
      if (field.type() == WireType::EndGroup) {
        if (open[--depth] != field.number()) return fail("end of another group", tag_start);
      } else if (field.type() == WireType::StartGroup) {
        if (depth == kWireGroupDepthMax) return fail("groups nested over 100 deep", tag_start);
        open[depth++] = field.number();
      } else if (!read_value(field, tag_start)) {
        return false;
      }
    }
    return true;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  const uint8_t* origin_;
  WireFault& fault_;
};

// Counts the varints of a packed run, 8 bytes at a time, and checks each: ended, at most 64 bits.
// After it the run can be decoded without checks. nullptr, or the start of the bad varint.
inline const uint8_t* count_varints(std::span<const uint8_t> run, uint64_t& count) {
  constexpr uint64_t kTopBits = 0x8080808080808080u;
  const uint8_t* at = run.data();
  const uint8_t* const end = at + run.size();
  size_t open = 0;  // bytes of the varint that is open at `at`
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    const uint64_t stops = ~word & kTopBits;
    if (stops == 0) {
      if (open + 8 > 9) return at - open;
      open += 8;
      continue;
    }
    count += static_cast<uint64_t>(std::popcount(stops));
    const size_t first = static_cast<size_t>(std::countr_zero(stops)) / 8;
    if (open + first >= 9 && (open + first > 9 || at[first] > 1)) return at - open;
    open = static_cast<size_t>(std::countl_zero(stops)) / 8;
  }
  for (; at != end; ++at) {
    if (open >= 9 && *at > 1) return at - open;
    open = *at < 0x80 ? 0 : open + 1;
    count += *at < 0x80;
  }
  return open == 0 ? nullptr : end - open;
}

// The low seven bits of each of eight bytes, joined to 56 bits.
inline uint64_t join_sevens(uint64_t word) {
  word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
  word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
  return (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
}

// One varint of a run that count_varints() passed and that ends at `end`; `at` moves behind it.
// Lengths in a run are hard to predict: eight bytes are joined without a branch on the length.
inline uint64_t checked_varint(const uint8_t*& at, const uint8_t* end) {
  if (end - at >= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    const uint64_t stops = ~word & 0x8080808080808080u;
    if (stops != 0) {
      at += std::countr_zero(stops) / 8 + 1;
      return join_sevens(word & (stops ^ (stops - 1)));
    }
    uint64_t value = join_sevens(word) | static_cast<uint64_t>(at[8] & 0x7fu) << 56;
    if (at[8] < 0x80) {
      at += 9;
      return value;
    }
    value |= static_cast<uint64_t>(at[9]) << 63;
    at += 10;
    return value;
  }
  uint64_t value = *at & 0x7fu;
  for (unsigned shift = 7; *at++ >= 0x80; shift += 7) {
    value |= static_cast<uint64_t>(*at & 0x7fu) << shift;
  }
  return value;
}

}  // namespace serval
