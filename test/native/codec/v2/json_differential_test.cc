// The fast V2 decoder against the plain one on generated bodies. Every body that the fast one
// accepts, the plain one must accept with the same tensors; both must accept valid bodies. Bodies
// are generated from a fixed seed and then damaged slightly. Source: codec/v2/json.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "support/json_v2_compare.h"

namespace serval {
namespace {

constexpr std::array kTypes = {DType::Bool,   DType::Uint8, DType::Uint16, DType::Uint32,
                               DType::Uint64, DType::Int8,  DType::Int16,  DType::Int32,
                               DType::Int64,  DType::Fp16,  DType::Bf16,   DType::Fp32,
                               DType::Fp64,   DType::Bytes};

// Writes valid bodies for a signature, in as many forms as JSON allows.
class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  size_t below(size_t limit) { return random_() % limit; }
  std::mt19937& random() { return random_; }

  struct Made {
    std::string body;
    int64_t json_bytes = kNoJsonHeader;
    bool plain_only = false;  // has something that the fast decoder may leave to the plain one
  };

  Made body(const Signature& signature) {
    Made made;
    std::string binary;
    std::vector<size_t> order(signature.inputs.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    std::string inputs = "[";
    for (size_t i : order) {
      inputs += (inputs.size() > 1 ? "," : "") + blank();
      inputs += input(signature.inputs[i], binary, made.plain_only);
    }
    std::vector<std::string> members = {"\"inputs\"" + blank() + ":" + inputs + blank() + "]"};
    if (below(2)) members.push_back(R"("id":"some)" + escape(made.plain_only) + "\"");
    if (below(3) == 0) members.push_back(R"("parameters":{"binary_data_output":true,"p":1.5e3})");
    else if (below(2)) members.push_back(schedule(made.plain_only));
    if (below(3) == 0)
      members.push_back(R"("outputs":[{"name":"z"},)" + blank() + R"({"name":"y",
        "parameters":{"binary_data":false}}])");
    else if (below(3) == 0) members.push_back(classes());
    if (below(5) == 0) members.push_back(R"("other":"text")");
    made.body = blank() + object(members) + blank();
    if (!binary.empty() || below(4) == 0) made.json_bytes = static_cast<int64_t>(made.body.size());
    made.body += binary;
    return made;
  }

 private:
  // Parameters for the request's position in the queue; names may be written with an escape.
  std::string schedule(bool& plain_only) {
    const auto name = [&](const std::string& plain, const std::string& escaped) {
      if (below(20) != 0) return "\"" + plain + "\"" + blank() + ":" + blank();
      plain_only = true;
      return "\"" + escaped + "\":";
    };
    std::vector<std::string> given = {name("priority", "priorit\\u0079") + integer(DType::Uint64),
                                      name("sequence_id", "sequence_i\\u0064") +
                                          (below(2) == 0 ? integer(DType::Uint64) : "\"s\""),
                                      name("sequence_end", "sequence_en\\u0064") + "true"};
    if (below(2)) given.push_back(name("timeout", "\\u0074imeout") + integer(DType::Uint64));
    if (below(2)) given.push_back(R"("t":"},{")");
    return name("parameters", "par\\u0061meters") + object(given);
  }

  std::string classes() {
    return R"("outputs":[{"parameters":{"classification":)" + std::to_string(1 + below(20)) +
           (below(2) ? R"(,"binary_data":true)" : "") + R"(},"name":"y"}])";
  }

  std::string blank() {
    static constexpr std::array kBlanks = {"", "", "", " ", "\n", "\t\r ", "  "};
    return kBlanks[below(kBlanks.size())];
  }

  std::string object(std::vector<std::string>& members) {
    std::shuffle(members.begin(), members.end(), random_);
    std::string text = "{";
    for (const std::string& member : members) {
      text += (text.size() > 1 ? "," : "") + blank() + member + blank();
    }
    return text + "}";
  }

  std::string escape(bool& used) {
    if (below(8) != 0) return "";
    used = true;
    static constexpr std::array kEscapes = {"\\n", "\\u0000", "\\ud83d\\ude00", "\\\\", "\\\""};
    return kEscapes[below(kEscapes.size())];
  }

  std::string integer(DType dtype) {
    switch (dtype) {
      case DType::Uint8: return std::to_string(random_() % 256);
      case DType::Int8: return std::to_string(static_cast<int8_t>(random_()));
      case DType::Uint16: return std::to_string(random_() % 65536);
      case DType::Int16: return std::to_string(static_cast<int16_t>(random_()));
      case DType::Uint32: return std::to_string(static_cast<uint32_t>(random_()));
      case DType::Int32: return std::to_string(static_cast<int32_t>(random_()));
      case DType::Uint64:
        return std::to_string((uint64_t{random_()} << 32 | random_()) >> below(64));
      default:
        return std::to_string(static_cast<int64_t>(uint64_t{random_()} << 32 | random_()) >>
                              below(63));
    }
  }

  std::string number(DType dtype) {
    const bool half = dtype == DType::Fp16;
    switch (below(8)) {
      case 0: return std::to_string(below(2000));
      case 1: return "-" + std::to_string(below(100)) + "." + std::to_string(random_());
      case 2: return half ? "6.5504e4" : std::to_string(below(9)) + "e" + std::to_string(below(37));
      case 3: return "1.000000059604644775390625";
      case 4: return std::to_string(below(10)) + ".25E-" + std::to_string(below(330));
      case 5: return "0." + std::to_string(random_()) + std::to_string(random_());
      case 6: {
        static constexpr std::array kTokens = {"NaN", "Infinity", "-Infinity", "-0", "-0.0", "0.0"};
        return kTokens[below(kTokens.size())];
      }
      default: return std::to_string(below(60000)) + "." + std::to_string(below(1000));
    }
  }

  std::string element(DType dtype, bool& plain_only) {
    if (dtype == DType::Bool) return below(2) ? "true" : "false";
    if (dtype == DType::Bytes) {
      return "\"" + std::string(below(50), 'x') + escape(plain_only) +
             (below(3) ? "[\xc3\xa9]" : "") + "\"";
    }
    const bool real = dtype == DType::Fp16 || dtype == DType::Bf16 || dtype == DType::Fp32 ||
                      dtype == DType::Fp64;
    return real ? number(dtype) : integer(dtype);
  }

  // `count` elements in randomly nested lists.
  std::string list(DType dtype, size_t count, int depth, bool& plain_only) {
    std::string text = "[" + blank();
    bool first = true;
    while (count != 0) {
      if (!first) text += "," + blank();
      first = false;
      if (depth < 6 && below(4) == 0) {
        const size_t some = below(count + 1);
        text += list(dtype, some, depth + 1, plain_only);
        count -= some;
      } else {
        text += element(dtype, plain_only);
        --count;
      }
      text += blank();
    }
    return text + "]";
  }

  std::string input(const TensorSpec& spec, std::string& binary, bool& plain_only) {
    const size_t rows = below(4);
    const size_t columns = below(5);
    std::vector<std::string> members = {
        R"("name":)" + blank() + "\"" + spec.name + "\"",
        R"("datatype":")" + std::string(dtype_name(spec.dtype)) + "\"",
        R"("shape":[)" + std::to_string(rows) + "," + blank() + std::to_string(columns) + "]"};
    if (below(3) == 0) {
      std::string raw;
      for (size_t i = 0; i < rows * columns; ++i) {
        const auto length = static_cast<char>(below(9));
        if (spec.dtype == DType::Bytes) raw += {length, 0, 0, 0};
        const size_t bytes =
            spec.dtype == DType::Bytes ? static_cast<size_t>(length) : dtype_bytes(spec.dtype);
        for (size_t k = 0; k < bytes; ++k) {
          raw += static_cast<char>(spec.dtype == DType::Bool ? below(2) : random_());
        }
      }
      members.push_back(R"("parameters":{"binary_data_size":)" + std::to_string(raw.size()) + "}");
      binary += raw;
    } else {
      members.push_back(R"("data":)" + blank() + list(spec.dtype, rows * columns, 1, plain_only));
    }
    return object(members);
  }

  std::mt19937 random_;
};

Signature signature_of(Generator& generator) {
  Signature signature = test::one_input(kTypes[generator.below(kTypes.size())]);
  const size_t more = generator.below(3);
  for (size_t i = 0; i < more; ++i) {
    const DType dtype = kTypes[generator.below(kTypes.size())];
    signature.inputs.push_back(test::spec("in_" + std::to_string(i), dtype, {-1, -1}));
  }
  return signature;
}

// Makes one to three small changes.
void spoil(std::string& body, Generator& generator) {
  static constexpr std::string_view kBytes = "[]{}\",:0123456789.-+eE\\ntfNaI \x80\xff";
  for (size_t i = 0; i <= generator.below(3) && !body.empty(); ++i) {
    const size_t at = generator.below(body.size());
    const char byte = kBytes[generator.below(kBytes.size())];
    switch (generator.below(4)) {
      case 0: body[at] = byte; break;
      case 1: body.insert(at, 1, byte); break;
      case 2: body.erase(at, 1 + generator.below(3)); break;
      default: body.insert(at, body.substr(at, generator.below(12))); break;
    }
  }
}

TEST(DifferentialV2, BothAcceptValidBodies) {
  Generator generator(1);
  size_t fast = 0;
  size_t simple = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Signature signature = signature_of(generator);
    const Generator::Made made = generator.body(signature);
    const auto both = test::compare_decoders(made.body, made.json_bytes, signature);
    ASSERT_EQ(both.fault, "") << made.body;
    if (!both.plain) {
      const test::PaddedBody body(made.body);
      Arena arena;
      DecodedRequest request;
      Status status =
          decode_v2_infer_plain(body.bytes(), made.json_bytes, signature, {}, arena, request);
      FAIL() << status.error().message << "\n" << made.body;
    }
    simple += !made.plain_only;
    fast += both.fast && !made.plain_only;
  }
  // The rest contains 1e-400 and the like, or data with escapes before its datatype.
  EXPECT_GT(static_cast<double>(fast), 0.9 * static_cast<double>(simple));
}

TEST(DifferentialV2, BothAgreeOnSpoiltBodies) {
  Generator generator(2);
  size_t accepted = 0;
  for (int i = 0; i < 60'000; ++i) {
    const Signature signature = signature_of(generator);
    Generator::Made made = generator.body(signature);
    spoil(made.body, generator);
    const auto both = test::compare_decoders(made.body, made.json_bytes, signature);
    ASSERT_EQ(both.fault, "") << made.body;
    accepted += both.plain;
  }
  EXPECT_GT(accepted, 1000u);  // damage must leave some of them valid
  EXPECT_LT(accepted, 50'000u);
}

}  // namespace
}  // namespace serval
