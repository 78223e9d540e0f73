// hash(), xxhash64() and digests. Hot path; any thread.
// Source: Spark's Murmur3_x86_32 and XXH64, and hash.scala for what each type's bytes are.
#include <bit>
#include <cstring>

#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"
#include "tabular/sql/hashes/digests.h"

namespace serval::tabular::sql {

namespace {

constexpr int32_t kSeed = 42;

struct Murmur {
  using Word = uint32_t;

  static Word mix(Word hash, Word input) {
    input = std::rotl(input * 0xcc9e2d51U, 15) * 0x1b873593U;
    return std::rotl(hash ^ input, 13) * 5 + 0xe6546b64U;
  }
  static Word finish(Word hash, Word length) {
    hash ^= length;
    hash = (hash ^ (hash >> 16)) * 0x85ebca6bU;
    hash = (hash ^ (hash >> 13)) * 0xc2b2ae35U;
    return hash ^ (hash >> 16);
  }
  static Word of_int(uint32_t input, Word seed) { return finish(mix(seed, input), 4); }
  static Word of_long(uint64_t input, Word seed) {
    const Word low = mix(seed, static_cast<uint32_t>(input));
    return finish(mix(low, static_cast<uint32_t>(input >> 32)), 8);
  }
  // The bytes of the last incomplete word are hashed one by one, sign-extended.
  static Word of_bytes(std::string_view bytes, Word seed) {
    const size_t whole = bytes.size() / 4 * 4;
    for (size_t at = 0; at < whole; at += 4) {
      uint32_t word = 0;
      std::memcpy(&word, bytes.data() + at, 4);
      seed = mix(seed, word);
    }
    for (size_t at = whole; at < bytes.size(); ++at) {
      seed = mix(seed, static_cast<uint32_t>(static_cast<int8_t>(bytes[at])));
    }
    return finish(seed, static_cast<Word>(bytes.size()));
  }
};

struct Xx {
  using Word = uint64_t;
  static constexpr uint64_t kOne = 0x9E3779B185EBCA87, kTwo = 0xC2B2AE3D27D4EB4F;
  static constexpr uint64_t kThree = 0x165667B19E3779F9, kFour = 0x85EBCA77C2B2AE63;
  static constexpr uint64_t kFive = 0x27D4EB2F165667C5;

  static Word finish(Word hash) {
    hash = (hash ^ (hash >> 33)) * kTwo;
    hash = (hash ^ (hash >> 29)) * kThree;
    return hash ^ (hash >> 32);
  }
  static Word add_int(Word hash, uint32_t input) {
    return std::rotl(hash ^ (input * kOne), 23) * kTwo + kThree;
  }
  static Word add_long(Word hash, uint64_t input) {
    return std::rotl(hash ^ (std::rotl(input * kTwo, 31) * kOne), 27) * kOne + kFour;
  }
  static Word of_int(uint32_t input, Word seed) { return finish(add_int(seed + kFive + 4, input)); }
  static Word of_long(uint64_t input, Word seed) {
    return finish(add_long(seed + kFive + 8, input));
  }
  static uint64_t word_at(std::string_view bytes, size_t at) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    return word;
  }
  // A long text has four lanes, with a word of each block in every one.
  static Word lanes(std::string_view bytes, size_t& at, Word seed) {
    uint64_t lanes[4] = {seed + kOne + kTwo, seed + kTwo, seed, seed - kOne};
    for (; at + 32 <= bytes.size(); at += 32) {
      for (size_t i = 0; i < 4; ++i) {
        lanes[i] = std::rotl(lanes[i] + word_at(bytes, at + 8 * i) * kTwo, 31) * kOne;
      }
    }
    Word hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                std::rotl(lanes[3], 18);
    for (const uint64_t lane : lanes) {
      hash = (hash ^ (std::rotl(lane * kTwo, 31) * kOne)) * kOne + kFour;
    }
    return hash;
  }
  static Word of_bytes(std::string_view bytes, Word seed) {
    size_t at = 0;
    Word hash = bytes.size() >= 32 ? lanes(bytes, at, seed) : seed + kFive;
    hash += bytes.size();
    for (; at + 8 <= bytes.size(); at += 8) hash = add_long(hash, word_at(bytes, at));
    if (at + 4 <= bytes.size()) {
      uint32_t word = 0;
      std::memcpy(&word, bytes.data() + at, 4);
      hash = add_int(hash, word);
      at += 4;
    }
    for (; at < bytes.size(); ++at) {
      hash = std::rotl(hash ^ (static_cast<uint8_t>(bytes[at]) * kFive), 11) * kOne;
    }
    return finish(hash);
  }
};

// BigInteger.toByteArray(): as few bytes as have the number and its sign, the high one first.
std::string signed_bytes(Int128 value) {
  std::string bytes;
  for (int i = 0; i < 16; ++i) {
    bytes.insert(bytes.begin(), static_cast<char>(value));
    const bool negative = (bytes.front() & 0x80) != 0;
    value >>= 8;
    if ((value == 0 && !negative) || (value == -1 && negative)) break;
  }
  return bytes;
}

uint64_t double_bits(double value) {
  if (std::isnan(value)) return 0x7ff8000000000000;
  return value == 0 ? 0 : std::bit_cast<uint64_t>(value);
}

uint32_t float_bits(double value) {
  if (std::isnan(value)) return 0x7fc00000;
  return value == 0 ? 0 : std::bit_cast<uint32_t>(static_cast<float>(value));
}

template <typename Kind>
typename Kind::Word hash_of(Eval& eval, const Value& value, typename Kind::Word seed);

template <typename Kind>
typename Kind::Word hash_of_items(Eval& eval, const Value& value, typename Kind::Word seed) {
  const Form form = composite_of(full_type(value)).form;
  if (form == Form::Map) {
    eval.fail("a map has no hash");
    return seed;
  }
  const auto items = items_of(eval, value);
  if (form != Form::Interval) {
    for (const Value& item : items) seed = hash_of<Kind>(eval, item, seed);
    return seed;
  }
  for (size_t i = items.size(); i-- > 0;) seed = hash_of<Kind>(eval, items[i], seed);
  return seed;
}

// NULL leaves the seed as it is.
template <typename Kind>
typename Kind::Word hash_of(Eval& eval, const Value& value, typename Kind::Word seed) {
  if (!value.valid()) return seed;
  switch (value.type) {
    case Type::Bool:
    case Type::Int8:
    case Type::Int16:
    case Type::Int32:
    case Type::Date: return Kind::of_int(static_cast<uint32_t>(value.integer), seed);
    case Type::Float: return Kind::of_int(float_bits(value.real), seed);
    case Type::Double: return Kind::of_long(double_bits(value.real), seed);
    case Type::Decimal:
      if (value.precision <= 18) {
        return Kind::of_long(static_cast<uint64_t>(value.decimal), seed);
      }
      return Kind::of_bytes(signed_bytes(value.decimal), seed);
    case Type::String:
    case Type::Binary: return Kind::of_bytes(eval.text(value), seed);
    case Type::List: return hash_of_items<Kind>(eval, value, seed);
    case Type::Vector: eval.fail("a vector has no hash"); return seed;
    default: return Kind::of_long(static_cast<uint64_t>(value.integer), seed);
  }
}

Value hash(Eval& eval, Arguments arguments, const void*) {
  auto made = static_cast<uint32_t>(kSeed);
  for (const Value& value : arguments) made = hash_of<Murmur>(eval, value, made);
  return Value::of_integer(static_cast<int32_t>(made), Type::Int32);
}

Value xxhash64(Eval& eval, Arguments arguments, const void*) {
  uint64_t made = kSeed;
  for (const Value& value : arguments) made = hash_of<Xx>(eval, value, made);
  return Value::of_integer(static_cast<int64_t>(made));
}

// The bytes of a text or a binary value; false if there are none, or after eval.failed().
bool bytes_of(Eval& eval, std::string_view function, Arguments arguments, std::string_view& bytes) {
  const Value& value = arguments[0];
  if (!is_text(value.type) && value.type != Type::Any) {
    bad_argument(eval, function, 0, "binary", value);
    return false;
  }
  if (!value.valid()) return false;
  bytes = eval.text(value);
  return true;
}

Value md5(Eval& eval, Arguments arguments, const void*) {
  std::string_view bytes;
  if (!bytes_of(eval, "md5", arguments, bytes)) return missing_of(kString);
  return text_value(eval, md5_text(bytes));
}

Value sha1(Eval& eval, Arguments arguments, const void*) {
  std::string_view bytes;
  if (!bytes_of(eval, "sha1", arguments, bytes)) return missing_of(kString);
  return text_value(eval, sha1_text(bytes));
}

Value sha2(Eval& eval, Arguments arguments, const void*) {
  std::string_view bytes;
  const bool valid = bytes_of(eval, "sha2", arguments, bytes);
  const Value bits = argument(eval, "sha2", arguments, 1, kInt32);
  if (!valid || !bits.valid()) return missing_of(kString);
  switch (bits.integer) {
    case 0: return text_value(eval, sha2_text(bytes, 256));
    case 224:
    case 256:
    case 384:
    case 512: return text_value(eval, sha2_text(bytes, static_cast<int>(bits.integer)));
    default: return missing_of(kString);
  }
}

Value crc32(Eval& eval, Arguments arguments, const void*) {
  std::string_view bytes;
  if (!bytes_of(eval, "crc32", arguments, bytes)) return missing_of(kInt64);
  return Value::of_integer(crc32_of(bytes));
}

constexpr Function kHashesFunctions[] = {
    function(fn::sql_hash, hash), function(fn::sql_xxhash64, xxhash64),
    function(fn::sql_md5, md5),   function(fn::sql_sha1, sha1),
    function(fn::sql_sha2, sha2), function(fn::sql_crc32, crc32),
};

}  // namespace

std::span<const Function> hash_functions() { return kHashesFunctions; }

}  // namespace serval::tabular::sql
