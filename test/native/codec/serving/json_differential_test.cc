// The fast V1 decoder against the plain one on generated bodies: valid, nearly valid and damaged
// ones. test/fuzz/json_v1_fuzz.cc checks the same for bodies that a fuzzer finds.
#include <gtest/gtest.h>

#include <random>

#include "support/json_v1_support.h"

namespace serval {
namespace {

// Writes random predict bodies for a signature.
class BodyWriter {
 public:
  explicit BodyWriter(uint64_t seed) : random_(seed) {}

  // `odd`: the percentage of pieces that do not match the signature.
  std::string body(const std::vector<Signature>& signatures, unsigned odd) {
    odd_ = odd;
    text_.clear();
    const Signature& signature = signatures[random_() % signatures.size()];
    const bool row_format = random_() % 2 == 0;
    const bool name_first = random_() % 2 == 0;
    add("{");
    if (is_odd() || random_() % 8 == 0) add("\"extra\": "), any(3), add(",");
    if (name_first) name(signature), add(",");
    add(row_format ? "\"instances\":" : "\"inputs\":");
    row_format ? instances(signature) : inputs(signature);
    if (!name_first) add(","), name(signature);
    if (is_odd()) add(", \"inputs\": 1");
    add("}");
    return text_;
  }

  // Changes, drops, doubles or copies a few bytes.
  std::string damage(std::string text) {
    for (size_t left = 1 + random_() % 3; left != 0 && !text.empty(); --left) {
      const size_t at = random_() % text.size();
      constexpr std::string_view kBytes = "{}[]\",:0123456789.-+eE \n\\tfnNI\x01\x80";
      switch (random_() % 5) {
        case 0: text[at] = kBytes[random_() % kBytes.size()]; break;
        case 1: text.erase(at, 1 + random_() % 3); break;
        case 2: text.insert(at, 1, kBytes[random_() % kBytes.size()]); break;
        case 3: text.insert(at, text.substr(random_() % text.size(), 1 + random_() % 8)); break;
        default: text.resize(at);
      }
    }
    return text;
  }

 private:
  bool is_odd() { return random_() % 100 < odd_; }
  void add(std::string_view piece) {
    text_ += piece;
    constexpr std::string_view kBlanks = " \n\t\r";
    if (random_() % 6 == 0) text_ += kBlanks[random_() % kBlanks.size()];
  }
  void name(const Signature& signature) {
    add("\"signature_name\":");
    add(is_odd() ? "\"nobody\"" : "\"" + signature.name + "\"");
  }

  void instances(const Signature& signature) {
    const size_t count = is_odd() ? 0 : 1 + random_() % 4;
    const bool plain = signature.inputs.size() == 1 && random_() % 2 == 0;
    choose_shapes(signature, 3);
    add("[");
    for (size_t i = 0; i < count; ++i) {
      if (i != 0) add(",");
      plain ? value(signature.inputs[0], shapes_[0], 0) : object(signature);
    }
    add("]");
  }
  void inputs(const Signature& signature) {
    choose_shapes(signature, 4);
    const bool plain = signature.inputs.size() == 1 && random_() % 2 == 0;
    plain ? value(signature.inputs[0], shapes_[0], 0) : object(signature);
  }
  void choose_shapes(const Signature& signature, size_t rank_max) {
    shapes_.assign(signature.inputs.size(), {});
    for (std::vector<size_t>& shape : shapes_) {
      for (size_t rank = random_() % rank_max; rank != 0; --rank) shape.push_back(random_() % 4);
    }
  }
  void object(const Signature& signature) {
    const size_t inputs = signature.inputs.size();
    const size_t first = inputs == 0 ? 0 : random_() % inputs;
    add("{");
    for (size_t i = 0; i < inputs; ++i) {
      const size_t index = (first + i) % inputs;
      if (is_odd()) continue;
      if (i != 0) add(",");
      member(signature, index);
      if (is_odd()) add(","), member(signature, index);
    }
    add("}");
  }
  void member(const Signature& signature, size_t index) {
    add(is_odd() ? "\"zz\"" : "\"" + signature.inputs[index].name + "\"");
    add(":");
    value(signature.inputs[index], shapes_[index], 0);
  }
  void value(const TensorSpec& spec, const std::vector<size_t>& shape, size_t level) {
    if (level == shape.size()) return scalar(is_odd() ? DType::Invalid : spec.dtype);
    add("[");
    const size_t count = shape[level] + (is_odd() ? 1 : 0);
    for (size_t i = 0; i < count; ++i) {
      if (i != 0) add(",");
      value(spec, shape, is_odd() ? shape.size() : level + 1);
    }
    add("]");
  }
  void scalar(DType dtype) {
    switch (dtype) {
      case DType::Invalid: return any(2);
      case DType::Bytes:
        return add(pick({"\"\"", "\"abc\"", "\"\\n\\u00e9\\ud83d\\ude00\"", "{\"b64\": \"YQ==\"}",
                         "{\"b64\":\"\"}", "\"\xff\"", "{ \"b64\" : \"\\/w\" }"}));
      case DType::Bool: return add(random_() % 2 ? "true" : "false");
      case DType::Fp16:
      case DType::Bf16:
      case DType::Fp32:
      case DType::Fp64:
        return add(pick({"0", "-0", "-0.0", "1.5", "1e5", "-2.25E-3", "NaN", "-Infinity", "1e300",
                         "0.1", "65519.999999", "123456789012345678", "0.30000000000000004",
                         "3.402823669e38", "5e-324", "1.00048828125000001"}));
      default: return add(pick({"0", "-0", "1", "7", "100", "127", "42", "12"}));
    }
  }
  void any(size_t depth) {
    if (depth == 0 || random_() % 2 == 0) {
      return add(pick({"null", "true", "false", "0", "-1.5e3", "300", "-129", "1.0", "\"s\"",
                       "\"\\u0041\"", "[]", "{}", "NaN", "{\"b64\":\"YQ==\"}", "{\"b64\":1}",
                       "18446744073709551616", "\"\\ud800\"", "1e309", "[[[]]]"}));
    }
    const bool list = random_() % 2 == 0;
    add(list ? "[" : "{");
    if (!list) add("\"k\":");
    any(depth - 1);
    add(list ? "]" : "}");
  }
  std::string_view pick(std::initializer_list<std::string_view> choices) {
    return choices.begin()[random_() % choices.size()];
  }

  std::mt19937_64 random_;
  unsigned odd_ = 0;
  std::string text_;
  std::vector<std::vector<size_t>> shapes_;
};

struct Counts {
  size_t fast = 0;
  size_t plain = 0;
};

Counts compare_many(unsigned odd, bool damaged, uint64_t seed, size_t bodies) {
  BodyWriter writer(seed);
  Counts counts;
  for (size_t i = 0; i < bodies; ++i) {
    const std::vector<Signature> signatures = testing::sample_signatures(i);
    std::string text = writer.body(signatures, odd);
    if (damaged) text = writer.damage(std::move(text));
    const testing::FastAgainstPlain both =
        testing::compare_decoders(text, signatures, testing::sample_padding(i / 12));
    EXPECT_EQ(both.difference, "") << "signatures " << i % 12 << ": " << text;
    if (!both.difference.empty()) break;
    counts.fast += both.fast_accepts;
    counts.plain += both.plain_accepts;
  }
  return counts;
}

TEST(JsonV1Differential, RightBodies) {
  const Counts counts = compare_many(0, false, 1, 30000);
  EXPECT_GT(counts.plain, 20000u);
  // The plain decoder's share: ignored strings with escapes, and bodies that name another signature
  // than the default one after tensors that do not fit the default one.
  EXPECT_GT(counts.fast, counts.plain * 90 / 100);
}

TEST(JsonV1Differential, NearlyRightBodies) {
  const Counts counts = compare_many(3, false, 2, 30000);
  EXPECT_GT(counts.plain, 5000u);
  EXPECT_LT(counts.plain, 25000u);
  EXPECT_GT(counts.fast, 5000u);
}

TEST(JsonV1Differential, DamagedBodies) {
  const Counts counts = compare_many(1, true, 3, 60000);
  EXPECT_GT(counts.fast, 1000u);
  EXPECT_LT(counts.plain, 30000u);
}

}  // namespace
}  // namespace serval
