// libFuzzer target for the image decoders: arbitrary bytes as an encoded image, through every
// operator and some of their settings (the first byte chooses), and as a file of `serval predict`.
// An image may be refused or decoded; nothing may crash, hang or use excessive memory. Seeds:
// corpus/image_decode.
#include "../native/operators/support/fake_context.h"
#include "operators/images/image_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace serval;
  using namespace serval::operators;
  if (size == 0) return 0;
  constexpr const char* kNames[] = {"DecodeImage",     "DecodeJpeg", "DecodePng",
                                    "DecodeBmp",       "DecodeGif",  "DecodeAndCropJpeg",
                                    "ExtractJpegShape"};
  const uint8_t choice = data[0];
  const std::string name = kNames[choice % std::size(kNames)];
  FakeAttributes attributes;
  attributes.ints["dtype"] = (choice & 8) != 0 ? 4 : 2;
  attributes.ints["output_type"] = 6;
  attributes.ints["channels"] = (choice & 16) != 0 ? 3 : 0;
  attributes.ints["expand_animations"] = choice >> 5 & 1;
  attributes.ints["try_recover_truncated"] = choice >> 6 & 1;
  attributes.floats["acceptable_fraction"] = (choice & 128) != 0 ? 0.5f : 1.0f;
  const std::string image(reinterpret_cast<const char*>(data + 1), size - 1);
  std::vector<FakeTensor> inputs = {FakeTensor::of_texts({}, {image})};
  if (name == "DecodeAndCropJpeg") {
    inputs.push_back(FakeTensor::of<int32_t>(DType::Int32, {4}, {1, 1, 2, 3}));
  }
  (void)run_operator(name, attributes, std::move(inputs), 1);
  std::vector<uint8_t> samples;
  (void)images::decode_image_file(
      image, 1 << 24, [&](const images::ImageForm& form) -> Result<std::span<uint8_t>> {
        samples.resize(
            static_cast<size_t>(form.width * form.height * form.channels * form.sample_bytes));
        return std::span<uint8_t>(samples);
      });
  return 0;
}
