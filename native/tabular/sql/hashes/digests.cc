// MD5, SHA and CRC digests. Pure; any thread.
#include "tabular/sql/hashes/digests.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace serval::tabular::sql {

namespace {

// The message followed by a 1 bit, zeros and its length in bits, in whole blocks.
std::string padded(std::string_view bytes, size_t block, size_t length_bytes, bool big_endian) {
  std::string made(bytes);
  made += static_cast<char>(0x80);
  while (made.size() % block != block - length_bytes) made += '\0';
  const uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  for (size_t i = 0; i < length_bytes; ++i) {
    const size_t place = big_endian ? length_bytes - 1 - i : i;
    made += place < 8 ? static_cast<char>(bits >> (8 * place)) : '\0';
  }
  return made;
}

template <typename Word>
Word big_endian_word(const char* at) {
  Word word = 0;
  for (size_t i = 0; i < sizeof(Word); ++i) {
    word = static_cast<Word>(word << 8) | static_cast<uint8_t>(at[i]);
  }
  return word;
}

template <typename Word>
void append_big_endian(Word word, std::string& out) {
  for (size_t i = sizeof(Word); i-- > 0;) out += static_cast<char>(word >> (8 * i));
}

// Initial values of SHA-2: the first fractional bits of square and cube roots of primes.
constexpr bool is_prime(uint32_t value) {
  for (uint32_t i = 2; i * i <= value; ++i) {
    if (value % i == 0) return false;
  }
  return value > 1;
}

__extension__ using Uint128 = unsigned __int128;

// Whether root^power <= prime * 2^(64 * power), for a root with 64 bits after the point and the
// power 2 or 3: by words of 32 bits, since a cube of such a root has 204 bits.
bool not_above(Uint128 root, int power, uint32_t prime) {
  std::array<uint32_t, 12> product = {1};
  const std::array<uint32_t, 3> factor = {static_cast<uint32_t>(root),
                                          static_cast<uint32_t>(root >> 32),
                                          static_cast<uint32_t>(root >> 64)};
  for (int i = 0; i < power; ++i) {
    std::array<uint32_t, 12> next = {};
    for (size_t a = 0; a + 3 < product.size(); ++a) {
      uint64_t carry = 0;
      for (size_t b = 0; b < 3; ++b) {
        const uint64_t sum = uint64_t{product[a]} * factor[b] + next[a + b] + carry;
        next[a + b] = static_cast<uint32_t>(sum);
        carry = sum >> 32;
      }
      next[a + 3] = static_cast<uint32_t>(next[a + 3] + carry);
    }
    product = next;
  }
  const auto whole = static_cast<size_t>(2 * power);  // words after the point
  for (size_t i = product.size(); i-- > whole + 1;) {
    if (product[i] != 0) return false;
  }
  if (product[whole] != prime) return product[whole] < prime;
  for (size_t i = 0; i < whole; ++i) {
    if (product[i] != 0) return false;
  }
  return true;
}

// 64 bits after the point.
uint64_t root_fraction(uint32_t prime, int power) {
  Uint128 root = 0;
  for (int bit = 70; bit >= 0; --bit) {
    const Uint128 tried = root | (Uint128{1} << bit);
    if (not_above(tried, power, prime)) root = tried;
  }
  return static_cast<uint64_t>(root);
}

struct RootTables {
  std::array<uint64_t, 80> cubes;
  std::array<uint64_t, 16> squares;
  RootTables() {
    size_t count = 0;
    for (uint32_t value = 2; count < cubes.size(); ++value) {
      if (!is_prime(value)) continue;
      cubes[count] = root_fraction(value, 3);
      if (count < squares.size()) squares[count] = root_fraction(value, 2);
      ++count;
    }
  }
};

const RootTables& roots() {
  static const RootTables made;
  return made;
}

struct Rotations {
  int big[2][3];    // of a and e
  int small[2][3];  // the third one shifts
};
constexpr Rotations kRotations32 = {{{2, 13, 22}, {6, 11, 25}}, {{7, 18, 3}, {17, 19, 10}}};
constexpr Rotations kRotations64 = {{{28, 34, 39}, {14, 18, 41}}, {{1, 8, 7}, {19, 61, 6}}};

template <typename Word>
Word big_sigma(Word x, const int (&by)[3]) {
  return std::rotr(x, by[0]) ^ std::rotr(x, by[1]) ^ std::rotr(x, by[2]);
}
template <typename Word>
Word small_sigma(Word x, const int (&by)[3]) {
  return std::rotr(x, by[0]) ^ std::rotr(x, by[1]) ^ static_cast<Word>(x >> by[2]);
}

template <typename Word>
Word top_bits(uint64_t value) {
  return static_cast<Word>(value >> (64 - 8 * sizeof(Word)));
}

template <typename Word>
void sha2_block(const char* block, std::array<Word, 8>& state) {
  constexpr bool kWide = sizeof(Word) == 8;
  constexpr size_t kRounds = kWide ? 80 : 64;
  const Rotations& by = kWide ? kRotations64 : kRotations32;
  std::array<Word, kRounds> words;
  for (size_t i = 0; i < kRounds; ++i) {
    words[i] = i < 16 ? big_endian_word<Word>(block + i * sizeof(Word))
                      : small_sigma(words[i - 2], by.small[1]) + words[i - 7] +
                            small_sigma(words[i - 15], by.small[0]) + words[i - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < kRounds; ++i) {
    const Word chosen = (e & f) ^ (~e & g);
    const Word one =
        h + big_sigma(e, by.big[1]) + chosen + top_bits<Word>(roots().cubes[i]) + words[i];
    const Word two = big_sigma(a, by.big[0]) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  const std::array<Word, 8> added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += added[i];
}

template <typename Word>
std::string sha2(std::string_view bytes, std::array<Word, 8> state, size_t taken) {
  constexpr size_t kBlock = 16 * sizeof(Word);
  const std::string message = padded(bytes, kBlock, 2 * sizeof(Word), true);
  for (size_t at = 0; at < message.size(); at += kBlock) sha2_block(message.data() + at, state);
  std::string made;
  for (const Word word : state) append_big_endian(word, made);
  made.resize(taken);
  return hex_text(made, false);
}

// SHA-224 begins with the second half of what SHA-384 begins with.
template <typename Word>
std::array<Word, 8> first_state(size_t prime, bool low_half) {
  std::array<Word, 8> state;
  for (size_t i = 0; i < 8; ++i) {
    const uint64_t root = roots().squares[prime + i];
    state[i] = low_half ? static_cast<Word>(root) : top_bits<Word>(root);
  }
  return state;
}

}  // namespace

std::string hex_text(std::string_view bytes, bool upper) {
  const char* digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    text += digits[static_cast<uint8_t>(c) >> 4];
    text += digits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

std::string md5_text(std::string_view bytes) {
  constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  static const auto kSines = [] {
    std::array<uint32_t, 64> made;
    for (size_t i = 0; i < 64; ++i) {
      made[i] = static_cast<uint32_t>(std::fabs(std::sin(static_cast<double>(i + 1))) * 0x1p32);
    }
    return made;
  }();
  std::array<uint32_t, 4> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const std::string message = padded(bytes, 64, 8, false);
  for (size_t at = 0; at < message.size(); at += 64) {
    std::array<uint32_t, 16> words;
    std::memcpy(words.data(), message.data() + at, 64);
    auto [a, b, c, d] = state;
    for (uint32_t i = 0; i < 64; ++i) {
      uint32_t mixed = 0, word = 0;
      switch (i / 16) {
        case 0: mixed = (b & c) | (~b & d), word = i; break;
        case 1: mixed = (d & b) | (~d & c), word = (5 * i + 1) % 16; break;
        case 2: mixed = b ^ c ^ d, word = (3 * i + 5) % 16; break;
        default: mixed = c ^ (b | ~d), word = 7 * i % 16; break;
      }
      const uint32_t sum = a + mixed + kSines[i] + words[word];
      a = d;
      d = c;
      c = b;
      b += std::rotl(sum, kShifts[i / 16][i % 4]);
    }
    state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
  }
  std::string made(16, '\0');
  std::memcpy(made.data(), state.data(), 16);
  return hex_text(made, false);
}

std::string sha1_text(std::string_view bytes) {
  std::array<uint32_t, 5> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  constexpr uint32_t kAdded[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
  const std::string message = padded(bytes, 64, 8, true);
  for (size_t at = 0; at < message.size(); at += 64) {
    std::array<uint32_t, 80> words;
    for (size_t i = 0; i < 80; ++i) {
      words[i] = i < 16 ? big_endian_word<uint32_t>(message.data() + at + 4 * i)
                        : std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    auto [a, b, c, d, e] = state;
    for (size_t i = 0; i < 80; ++i) {
      const uint32_t mixed = i < 20              ? (b & c) | (~b & d)
                             : i < 40 || i >= 60 ? b ^ c ^ d
                                                 : (b & c) | (b & d) | (c & d);
      const uint32_t sum = std::rotl(a, 5) + mixed + e + kAdded[i / 20] + words[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = sum;
    }
    state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
  }
  std::string made;
  for (const uint32_t word : state) append_big_endian(word, made);
  return hex_text(made, false);
}

std::string sha2_text(std::string_view bytes, int bits) {
  switch (bits) {
    case 224: return sha2<uint32_t>(bytes, first_state<uint32_t>(8, true), 28);
    case 256: return sha2<uint32_t>(bytes, first_state<uint32_t>(0, false), 32);
    case 384: return sha2<uint64_t>(bytes, first_state<uint64_t>(8, false), 48);
    default: return sha2<uint64_t>(bytes, first_state<uint64_t>(0, false), 64);
  }
}

uint32_t crc32_of(std::string_view bytes) {
  static const auto kTable = [] {
    std::array<uint32_t, 256> made;
    for (uint32_t i = 0; i < 256; ++i) {
      made[i] = i;
      for (int bit = 0; bit < 8; ++bit) {
        made[i] = (made[i] >> 1) ^ ((made[i] & 1) != 0 ? 0xedb88320U : 0U);
      }
    }
    return made;
  }();
  uint32_t crc = ~0U;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return ~crc;
}

}  // namespace serval::tabular::sql
