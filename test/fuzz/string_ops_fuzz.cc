// libFuzzer target for the string operators. The first byte chooses the operator, the second its
// attributes and position; the rest becomes its strings, cut at zero bytes.
// Nothing may crash, hang or use excessive memory. Seeds: corpus/string_ops.
#include "../native/operators/support/fake_context.h"

namespace {

using serval::DType;
using serval::operators::FakeAttributes;
using serval::operators::FakeTensor;

constexpr const char* kNames[] = {"StringLower",      "StringUpper",
                                  "StringStrip",      "StringLength",
                                  "Substr",           "DecodeBase64",
                                  "EncodeBase64",     "StringToNumber",
                                  "DecodeRaw",        "UnicodeDecodeWithOffsets",
                                  "UnicodeTranscode", "StringSplit",
                                  "StringSplitV2",    "RegexReplace",
                                  "RegexFullMatch",   "DecodeCSV",
                                  "StringJoin",       "AsString",
                                  "StringFormat"};

FakeAttributes settings(uint8_t choice) {
  constexpr const char* kEncodings[] = {"UTF-8", "UTF-16", "UTF-32", "UTF-16-LE"};
  FakeAttributes attributes;
  attributes.strings["encoding"] = "utf-8";
  attributes.strings["unit"] = (choice & 1) != 0 ? "UTF8_CHAR" : "BYTE";
  attributes.strings["input_encoding"] = kEncodings[choice & 3];
  attributes.strings["errors"] = (choice & 4) != 0 ? "ignore" : "replace";
  attributes.strings["template"] = "{}";
  attributes.strings["placeholder"] = "{}";
  attributes.ints["out_type"] = (choice & 8) != 0 ? 1 : 7;
  attributes.ints["Tsplits"] = 7;
  attributes.ints["maxsplit"] = choice % 5 - 1;
  attributes.int_lists["out_types"] = {8, 1};
  return attributes;
}

FakeTensor scalar(std::string text) { return FakeTensor::of_texts({}, {std::move(text)}); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string name = kNames[data[0] % std::size(kNames)];
  std::vector<std::string> texts(1);
  for (size_t i = 2; i < size; ++i) {
    if (data[i] == 0 && texts.size() < 64) texts.emplace_back();
    else texts.back().push_back(static_cast<char>(data[i]));
  }
  const auto count = static_cast<int64_t>(texts.size());
  std::vector<FakeTensor> inputs = {FakeTensor::of_texts({count}, texts)};
  if (name == "Substr") {
    for (const int32_t place : {data[1] - 128, static_cast<int>(size)}) {
      inputs.push_back(FakeTensor::of<int32_t>(DType::Int32, {}, {place}));
    }
  } else if (name == "DecodeCSV") {
    inputs.push_back(scalar("none"));
    inputs.push_back(FakeTensor::of<float>(DType::Fp32, {}, {1.5f}));
  } else if (name == "StringSplit" || name == "StringSplitV2" || name.starts_with("Regex")) {
    inputs.push_back(scalar(texts.front()));
    if (name == "RegexReplace") inputs.push_back(scalar(texts.back()));
  }
  (void)serval::operators::run_operator(name, settings(data[1]), std::move(inputs), 3);
  return 0;
}
