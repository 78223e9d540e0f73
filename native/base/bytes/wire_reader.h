// Reads the protobuf wire format: one field after the other, every byte bounds-checked, nothing
// thrown, no recursion. Hot path, any thread. Borrows the bytes; knows no message. Used instead of
// protozero's reader, which throws and does not check the order of unknown groups.
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

// Combines a field's number and wire type as on the wire, for use in a switch.
constexpr uint32_t wire_tag(uint32_t number, WireType type) {
  return number << 3 | static_cast<uint32_t>(type);
}

// Groups (proto2) are skipped; protobuf's own decoders stop at the same depth.
inline constexpr size_t kWireGroupDepthMax = 100;

// The first fault of a message. `reason` is null if there is none.
struct WireFault {
  const char* reason = nullptr;
  size_t offset = 0;  // within the outermost message
};

struct WireField {
  uint32_t tag = 0;                // wire_tag()
  uint64_t value = 0;              // Varint, Fixed32, Fixed64
  std::span<const uint8_t> bytes;  // Bytes

  uint32_t number() const { return tag >> 3; }
  WireType type() const { return static_cast<WireType>(tag & 7u); }
};

// Steps over the remaining bytes of a message, without recording faults. Each returns false if the
// bytes are truncated or not a varint.
struct WireCursor {
  const uint8_t* at;
  const uint8_t* end;

  explicit WireCursor(std::span<const uint8_t> bytes)
      : at(bytes.data()), end(bytes.data() + bytes.size()) {}

  bool done() const { return at == end; }

  // Reads at most ten bytes; drops bits over 64.
  bool varint(uint64_t& value) {
    if (at != end && *at < 0x80) {
      value = *at++;
      return true;
    }
    value = 0;
    for (unsigned shift = 0; shift < 70 && at != end; shift += 7) {
      const uint8_t byte = *at++;
      value |= static_cast<uint64_t>(byte & 0x7fu) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  template <typename T>
  bool fixed(uint64_t& value) {
    if (static_cast<size_t>(end - at) < sizeof(T)) return false;
    T fixed;
    std::memcpy(&fixed, at, sizeof(T));
    value = fixed;
    at += sizeof(T);
    return true;
  }

  bool take(uint64_t length, std::span<const uint8_t>& bytes) {
    if (length > static_cast<size_t>(end - at)) return false;
    bytes = {at, static_cast<size_t>(length)};
    at += length;
    return true;
  }

  // Reads a length and that many bytes.
  bool bytes(std::span<const uint8_t>& bytes) {
    uint64_t length = 0;
    return varint(length) && take(length, bytes);
  }

  // Skips the value of a field with this tag; refuses groups.
  bool skip(uint64_t tag) {
    uint64_t number = 0;
    std::span<const uint8_t> passed;
    switch (static_cast<WireType>(tag & 7u)) {
      case WireType::Varint: return varint(number);
      case WireType::Fixed64: return fixed<uint64_t>(number);
      case WireType::Bytes: return bytes(passed);
      case WireType::Fixed32: return fixed<uint32_t>(number);
      case WireType::StartGroup:
      case WireType::EndGroup: break;
    }
    return false;
  }
};

// Reads the fields of a message and records the first fault.
class WireReader {
 public:
  // `origin`: first byte of the outermost message, for offsets. Records the first fault only.
  WireReader(std::span<const uint8_t> bytes, const uint8_t* origin, WireFault& fault)
      : cursor_(bytes), origin_(origin), fault_(fault) {}

  // Reads the next field with its value; false at the end or at a fault (then fault.reason is set).
  // A caller ignores unknown tags: that skips unknown fields and, as protobuf does, known numbers
  // with another wire type. Groups are skipped here.
  bool next(WireField& field) {
    while (!cursor_.done()) {
      const uint8_t* start = cursor_.at;
      if (!read_tag(field, start)) return false;
      if (field.type() != WireType::StartGroup) return read_value(field, start);
      if (!skip_group(field.number(), start)) return false;
    }
    return false;
  }

  bool read_varint(uint64_t& value) {
    const uint8_t* start = cursor_.at;
    if (cursor_.varint(value) && (cursor_.at - start < 10 || cursor_.at[-1] <= 1)) return true;
    return fail(cursor_.at - start == 10 ? "varint over 64 bits" : "varint cut off", start);
  }

  bool at_end() const { return cursor_.done(); }

  // Reads a string field; proto3 requires UTF-8.
  bool text(const WireField& field, std::string_view& out) {
    out = {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
    return is_text(out) || fail("string that is not valid UTF-8", field.bytes.data());
  }

  // Records the first fault; always returns false.
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

  bool read_tag(WireField& field, const uint8_t* start) {
    uint64_t tag = 0;
    if (!read_varint(tag)) return false;
    if (tag > UINT32_MAX || cursor_.at - start > 5) return fail("field tag over 32 bits", start);
    if (tag < 8) return fail("field number 0", start);
    field.tag = static_cast<uint32_t>(tag);
    return true;
  }

  template <typename T>
  bool read_fixed(uint64_t& value, const uint8_t* start) {
    return cursor_.fixed<T>(value) || fail("fixed-size value cut off", start);
  }

  // Reads the value after a tag at `start`; not for groups.
  bool read_value(WireField& field, const uint8_t* start) {
    switch (field.type()) {
      case WireType::Varint: return read_varint(field.value);
      case WireType::Fixed64: return read_fixed<uint64_t>(field.value, start);
      case WireType::Fixed32: return read_fixed<uint32_t>(field.value, start);
      case WireType::Bytes: {
        uint64_t length = 0;
        if (!read_varint(length)) return false;
        return cursor_.take(length, field.bytes) ||
               fail("length past the end of its message", start);
      }
      case WireType::EndGroup: return fail("end of a group that was not begun", start);
      case WireType::StartGroup: break;
    }
    return fail("unknown wire type", start);
  }

  // Skips to the end of group `number`, whose tag is at `start`.
  [[gnu::noinline]] bool skip_group(uint32_t number, const uint8_t* start) {
    std::array<uint32_t, kWireGroupDepthMax> open;
    size_t depth = 1;
    open[0] = number;
    while (depth != 0) {
      if (cursor_.done()) return fail("group that is not ended", start);
      const uint8_t* tag_start = cursor_.at;
      WireField field;
      if (!read_tag(field, tag_start)) return false;
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

  WireCursor cursor_;
  const uint8_t* origin_;
  WireFault& fault_;
};

// Counts the varints of a packed run, 8 bytes at a time, and checks that each is terminated and its
// tenth byte is at most `tenth_max` (above 1 it has bits over 64, which are dropped). Afterwards
// the run can be decoded without checks. Returns nullptr, or the start of the bad varint.
inline const uint8_t* count_varints(std::span<const uint8_t> run, uint64_t& count,
                                    uint8_t tenth_max = 1) {
  constexpr uint64_t kTopBits = 0x8080808080808080u;
  const uint8_t* at = run.data();
  const uint8_t* const end = at + run.size();
  size_t open = 0;  // bytes of the varint that is unfinished at `at`
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
    if (open + first >= 9 && (open + first > 9 || at[first] > tenth_max)) return at - open;
    open = static_cast<size_t>(std::countl_zero(stops)) / 8;
  }
  for (; at != end; ++at) {
    if (open >= 9 && *at > tenth_max) return at - open;
    open = *at < 0x80 ? 0 : open + 1;
    count += *at < 0x80;
  }
  return open == 0 ? nullptr : end - open;
}

// Joins the low seven bits of each of eight bytes to 56 bits.
inline uint64_t join_sevens(uint64_t word) {
  word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
  word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
  return (word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4;
}

// Reads one varint of a run that passed count_varints() and ends at `end`; advances `at`. Lengths
// in a run are hard to predict, so eight bytes are joined without a branch on the length.
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
