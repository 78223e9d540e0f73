// The string and image operators on inputs that no client should send: encoded images cut at every
// byte and with bytes changed at random (seeded), byte strings that are not UTF-8, small inputs
// that ask for large outputs. A run may fail or succeed; it must not read past an end, hang or use
// unbounded memory (the sanitizer builds check that).
#include <zlib.h>

#include <chrono>
#include <random>

#include "operators/images/image_file.h"
#include "operators/support/golden_file.h"

namespace serval::operators {
namespace {

using Random = std::mt19937;
using Clock = std::chrono::steady_clock;

FakeTensor text(std::string value) { return FakeTensor::of_texts({}, {std::move(value)}); }

// Decodes the image as `serval predict` does.
Result<std::vector<uint8_t>> decode_file(std::string_view image, int64_t pixels_max) {
  std::vector<uint8_t> samples;
  const Status decoded = images::decode_image_file(
      image, pixels_max, [&](const images::ImageForm& form) -> Result<std::span<uint8_t>> {
        samples.resize(
            static_cast<size_t>(form.width * form.height * form.channels * form.sample_bytes));
        return std::span<uint8_t>(samples);
      });
  if (!decoded.ok()) return decoded.error();
  return samples;
}

void run_again(const GoldenCase& golden, std::string image) {
  const auto file = decode_file(image, 1 << 20);
  if (!file.ok()) {
    const std::string& message = file.error().message;
    EXPECT_TRUE(message.find(": byte ") < 5 || message.find("expected a PNG") == 0) << message;
  }
  std::vector<FakeTensor> inputs = golden.inputs;
  inputs[0].texts[0] = std::move(image);
  (void)run_operator(golden.op, golden.attributes, std::move(inputs), 1);
}

std::string changed(std::string bytes, Random& random) {
  if (bytes.empty()) return bytes;
  for (size_t i = 0; i <= random() % 4; ++i) {
    bytes[random() % bytes.size()] = static_cast<char>(random());
  }
  if (random() % 8 == 0) bytes.insert(random() % bytes.size(), bytes.substr(0, random() % 99));
  return bytes;
}

class ImageHostile : public testing::TestWithParam<const char*> {};

TEST_P(ImageHostile, CutAndChangedImages) {
  Random random(1);
  const auto begin = Clock::now();
  std::string last;
  for (const GoldenCase& golden : read_goldens(GetParam())) {
    SCOPED_TRACE(golden.name);
    const std::string& image = golden.inputs[0].texts[0];
    for (int i = 0; i < 20; ++i) run_again(golden, changed(image, random));
    if (image == last) continue;
    last = image;
    for (size_t length = 0; length < image.size(); ++length) {
      run_again(golden, image.substr(0, length));
    }
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(120));
}

INSTANTIATE_TEST_SUITE_P(Groups, ImageHostile,
                         testing::Values("image_jpeg", "image_png", "image_bmp", "image_gif"),
                         [](const auto& group) { return std::string(group.param); });

// A file that ends in half a marker makes libjpeg search for the rest forever.
TEST(JpegHostile, EndsWhereTheEndMarkerIsCut) {
  const auto begin = Clock::now();
  FakeAttributes recover;
  recover.ints["try_recover_truncated"] = 1;
  for (const GoldenCase& golden : read_goldens("image_jpeg")) {
    std::string image = golden.inputs[0].texts[0];
    if (!image.ends_with("\xFF\xD9")) continue;
    image.pop_back();
    (void)run_operator("DecodeJpeg", recover, {text(image)}, 1);
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(60));
}

std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

std::string png_chunk(std::string name, const std::string& body) {
  const std::string named = std::move(name) + body;
  const uLong sum =
      crc32(0, reinterpret_cast<const Bytef*>(named.data()), static_cast<uInt>(named.size()));
  return big_endian(static_cast<uint32_t>(body.size())) + named +
         big_endian(static_cast<uint32_t>(sum));
}

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, 0);
  compress2(reinterpret_cast<Bytef*>(out.data()), &size,
            reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 9);
  out.resize(size);
  return out;
}

// A PNG of one gray channel with these chunks between its header and its end.
std::string gray_png(uint32_t width, uint32_t height, int depth, const std::string& chunks) {
  const std::string form = {static_cast<char>(depth), 0, 0, 0, 0};
  return "\x89PNG\r\n\x1A\n" + png_chunk("IHDR", big_endian(width) + big_endian(height) + form) +
         chunks + png_chunk("IEND", "");
}

Result<std::vector<FakeTensor>> decode_png(const std::string& image) {
  FakeAttributes attributes;
  attributes.ints["dtype"] = 2;
  return run_operator("DecodePng", attributes, {text(image)}, 1);
}

TEST(PngHostile, ALargeHeaderWithLittleDataGetsNoMemory) {
  const auto begin = Clock::now();
  const std::string data = png_chunk("IDAT", compressed("no pixels"));
  for (uint32_t side : {0u, 20000u, 0x7fffffffu, 0xffffffffu}) {
    for (uint32_t height : {side, 1u}) {
      const std::string image = gray_png(side, height, 8, data);
      SCOPED_TRACE(std::to_string(side) + " x " + std::to_string(height));
      const auto got = decode_png(image);
      ASSERT_FALSE(got.ok());
      EXPECT_EQ(got.error().code, ErrorCode::InvalidArgument);
      EXPECT_FALSE(decode_file(image, 100'000'000).ok());
    }
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
}

// Each text is 8 MB when it is decompressed.
TEST(PngHostile, CompressedTextsAreSkipped) {
  std::string chunks;
  const std::string words =
      png_chunk("zTXt", std::string("a\0\0", 3) + compressed(std::string(7'900'000, 'a')));
  for (int i = 0; i < 100; ++i) chunks += words;
  const std::string image =
      gray_png(1, 1, 8, chunks + png_chunk("IDAT", compressed(std::string("\0\7", 2))));
  const auto begin = Clock::now();
  const auto got = decode_png(image);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got.value()[0].raw[0], 7);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
}

TEST(Png, AWhiteImageOfOneBitIsNotTooSmallForItsSize) {
  const std::string rows(size_t{2000} * 251, 0);
  const std::string image = gray_png(2000, 2000, 1, png_chunk("IDAT", compressed(rows)));
  ASSERT_LT(image.size(), size_t{2000} * 2000 / 1100);
  const auto got = decode_png(image);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got.value()[0].dims, (std::vector<int64_t>{2000, 2000, 1}));
}

TEST(StringHostile, SmallInputsDoNotMakeHugeOutputs) {
  const std::string long_text(1 << 20, 'a');
  const std::vector<std::string> many(4096, "b");
  const auto joined =
      run_operator("StringJoin", {}, {text(long_text), FakeTensor::of_texts({4096}, many)}, 1);
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.error().message, "output 0 would take more than 1073741824 bytes of strings");
  const auto replaced = run_operator("RegexReplace", {},
                                     {text(long_text), text("a"), text(std::string(4096, 'x'))}, 1);
  ASSERT_FALSE(replaced.ok());
  EXPECT_EQ(replaced.error().code, ErrorCode::InvalidArgument);
  const auto segments = run_operator(
      "UnsortedSegmentJoin", {},
      {FakeTensor::of_texts({1}, {"a"}), FakeTensor::of<int32_t>(DType::Int32, {1}, {0}),
       FakeTensor::of<int64_t>(DType::Int64, {}, {int64_t{1} << 40})},
      1);
  ASSERT_FALSE(segments.ok());
  EXPECT_EQ(segments.error().message, "num_segments 1099511627776 is too large");
}

TEST(StringHostile, AttributesThatNoModelShouldHave) {
  const auto refused = [](std::string_view name, const FakeAttributes& attributes) {
    return !operator_named(name).make(attributes).ok();
  };
  FakeAttributes bad;
  bad.ints = {{"width", 1 << 30}, {"pad_width", 1 << 30}, {"channels", 2}, {"out_type", 99}};
  bad.strings = {{"encoding", "utf-16"}, {"unit", "WORD"},      {"pattern", "("},
                 {"errors", "guess"},    {"field_delim", ";;"}, {"input_encoding", "bogus"}};
  bad.int_lists = {{"ngram_widths", {0}}};
  for (const char* name :
       {"StringLower", "StringUpper", "StringLength", "Substr", "AsString", "StringToNumber",
        "DecodeRaw", "DecodePaddedRaw", "StaticRegexReplace", "StaticRegexFullMatch",
        "StringNGrams", "DecodeCSV", "UnicodeDecode", "UnicodeTranscode", "UnicodeEncode",
        "DecodeJpeg", "DecodePng", "DecodeImage", "DecodeBmp"}) {
    EXPECT_TRUE(refused(name, bad)) << name;
  }
}

class StringHostileGroups : public testing::TestWithParam<const char*> {};

TEST_P(StringHostileGroups, ChangedBytes) {
  Random random(2);
  for (const GoldenCase& golden : read_goldens(GetParam())) {
    SCOPED_TRACE(golden.name);
    for (int round = 0; round < 8; ++round) {
      std::vector<FakeTensor> inputs = golden.inputs;
      for (FakeTensor& input : inputs) {
        for (std::string& one : input.texts) one = changed(std::move(one), random);
        if (round % 2 == 0 || input.raw.empty()) continue;
        // Lengths, positions and splits of any size.
        const int64_t number = random() % 2 != 0 ? INT64_MIN : static_cast<int64_t>(random()) - 9;
        const size_t width = dtype_bytes(input.dtype);
        std::memcpy(input.raw.data() + random() % (input.raw.size() / width) * width, &number,
                    width);
        if (input.dtype == DType::Bool) input.raw[0] = 1;
      }
      (void)run_operator(golden.op, golden.attributes, std::move(inputs), golden.output_count());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, StringHostileGroups,
                         testing::Values("string_elements", "string_join", "string_split",
                                         "string_csv", "string_numbers", "string_unicode", "regex"),
                         [](const auto& group) { return std::string(group.param); });

}  // namespace
}  // namespace serval::operators
