// Encodes and decodes base64, standard alphabet (RFC 4648). Hot path; pure, any thread.
// Source: tfserving.md 1.5 "b64".
#include <array>
#include <cstring>

#include "codec/json/text.h"

namespace serval {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Two characters for each value of twelve bits.
constexpr auto kPairs = [] {
  std::array<std::array<char, 2>, 4096> table{};
  for (size_t i = 0; i < 4096; ++i) table[i] = {kAlphabet[i >> 6], kAlphabet[i & 63]};
  return table;
}();

constexpr uint32_t kBad = 0x80000000u;

// Value of a character at index 0..3 of a group of four, shifted to its bits; kBad for others.
constexpr auto kValues = [] {
  std::array<std::array<uint32_t, 256>, 4> table{};
  for (size_t place = 0; place < 4; ++place) {
    table[place].fill(kBad);
    for (uint32_t i = 0; i < 64; ++i) {
      table[place][static_cast<unsigned char>(kAlphabet[i])] = i << (18 - 6 * place);
    }
  }
  return table;
}();

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

inline uint32_t value_at(size_t place, char c) {
  return kValues[place][static_cast<unsigned char>(c)];
}

char* encode(char* out, const uint8_t* bytes, size_t count) {
  for (; count >= 3; count -= 3, bytes += 3, out += 4) {
    const uint32_t group = uint32_t{bytes[0]} << 16 | uint32_t{bytes[1]} << 8 | bytes[2];
    std::memcpy(out, kPairs[group >> 12].data(), 2);
    std::memcpy(out + 2, kPairs[group & 0xfff].data(), 2);
  }
  if (count == 0) return out;
  const uint32_t group = uint32_t{bytes[0]} << 16 | (count == 2 ? uint32_t{bytes[1]} << 8 : 0);
  std::memcpy(out, kPairs[group >> 12].data(), 2);
  std::memcpy(out + 2, kPairs[group & 0xfff].data(), 2);
  out[3] = '=';
  if (count == 1) out[2] = '=';
  return out + 4;
}

// Stores the three bytes of a 24-bit group.
inline void store_group(uint8_t* out, uint32_t group) {
  out[0] = static_cast<uint8_t>(group >> 16);
  out[1] = static_cast<uint8_t>(group >> 8);
  out[2] = static_cast<uint8_t>(group);
}

// The general decoder: handles white space, the last group and its padding. Advances `text` and
// `out`.
bool decode_slow(std::string_view text, uint8_t*& out) {
  uint32_t group = 0;
  size_t place = 0;
  size_t at = 0;
  for (; at < text.size() && text[at] != '='; ++at) {
    if (is_space(text[at])) continue;
    const uint32_t value = value_at(place, text[at]);
    if (value == kBad) return false;
    group |= value;
    if (++place == 4) {
      store_group(out, group);
      out += 3;
      group = 0;
      place = 0;
    }
  }
  size_t padding = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '=') {
      ++padding;
    } else if (!is_space(text[at])) {
      return false;
    }
  }
  if (place == 1) return false;
  const size_t padding_due = place == 0 ? 0 : 4 - place;
  if (padding != 0 && padding != padding_due) return false;
  if (place >= 2) *out++ = static_cast<uint8_t>(group >> 16);
  if (place == 3) *out++ = static_cast<uint8_t>(group >> 8);
  return true;
}

}  // namespace

bool append_b64_object(ByteBuffer& out, std::string_view bytes) {
  constexpr std::string_view kOpen = "{\"b64\":\"";
  const size_t room = bytes.size() / 3 * 4 + 4 + kOpen.size() + 2;
  auto* place = reinterpret_cast<char*>(out.room(room));
  if (place == nullptr) return false;
  std::memcpy(place, kOpen.data(), kOpen.size());
  place =
      encode(place + kOpen.size(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  std::memcpy(place, "\"}", 2);
  out.set_end(reinterpret_cast<uint8_t*>(place + 2));
  return true;
}

Base64Result decode_base64(std::string_view text, Arena& arena) {
  auto* start = static_cast<uint8_t*>(arena.allocate(text.size() / 4 * 3 + 3));
  if (start == nullptr) return {};
  uint8_t* out = start;
  while (text.size() >= 4) {
    const uint32_t group =
        value_at(0, text[0]) | value_at(1, text[1]) | value_at(2, text[2]) | value_at(3, text[3]);
    if ((group & kBad) != 0) break;
    store_group(out, group);
    out += 3;
    text.remove_prefix(4);
  }
  if (!decode_slow(text, out)) return {};
  const auto bytes = static_cast<size_t>(out - start);
  arena.shrink_last(start, bytes);
  return {true, {reinterpret_cast<const char*>(start), bytes}};
}

}  // namespace serval
