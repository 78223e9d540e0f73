// Decodes images to pixels: the decoders of the image operators. Pure but for the memory they
// request; hot path. Input may be arbitrary bytes: every length is checked, outputs are limited.
// Source: results of TensorFlow 2.21.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace serval::operators::images {

enum class Format : uint8_t { Unknown, Jpeg, Png, Gif, Bmp, Webp };

// Detects the format from the first bytes.
Format format_of(std::string_view bytes);

struct Size {
  int64_t frames = 1, height = 0, width = 0, channels = 0;
  bool wide = false;  // elements have 16 bits
};

// Supplies the memory for the pixels (frames * height * width * channels elements of 1 or 2 bytes),
// once their number is known. Errors end the decoding.
using Allocate = std::function<Result<std::span<uint8_t>>(const Size& size)>;

// Limit on the pixels and samples of an image (exclusive).
inline constexpr int64_t kSamplesMax = int64_t{1} << 29;

struct Crop {
  int64_t y = 0, x = 0, height = 0, width = 0;
};

// Strict decoding: damage to pixels that a library only warns of fails the image too, and the fault
// is described.
struct Strict {
  int64_t pixels_max = 0;
  // Results of a failure: the reason, and how many bytes the library had read.
  std::string fault;
  size_t at = 0;
};

// Reasons that the decoders share.
inline std::string too_many_pixels(int64_t limit, int64_t width, int64_t height) {
  return "expected at most " + std::to_string(limit) + " pixels, got " + std::to_string(width) +
         " x " + std::to_string(height);
}
inline std::string too_few_bytes(int64_t width, int64_t height) {
  return "the file has too few bytes for " + std::to_string(width) + " x " +
         std::to_string(height) + " pixels";
}

struct JpegSettings {
  int channels = 0;  // 0: as in the file, at most 3; 1; 3
  int ratio = 1;     // the image is scaled down by 1, 2, 4 or 8
  bool fancy_upscaling = true;
  bool recover_truncated = false;
  float acceptable_fraction = 1.0f;
  bool accurate = false;  // the slower cosine transform
  const Crop* crop = nullptr;
  Strict* strict = nullptr;  // borrowed; nullptr: as TensorFlow does
};

// Errors: invalid_argument in TensorFlow's words.
Status decode_jpeg(std::string_view bytes, const JpegSettings& settings, const Allocate& allocate);
// Reads height, width and channels from the header.
Result<Size> jpeg_size(std::string_view bytes);

struct PngSettings {
  // 0: as in the file, without the alpha channel of a color key; 1 to 4; kAllChannels
  int channels = 0;
  bool wide = false;         // elements have 16 bits
  Strict* strict = nullptr;  // borrowed; nullptr: as TensorFlow does
};
inline constexpr int kAllChannels = -1;  // as in the file, with an alpha channel for a color key

// Errors: invalid_argument in TensorFlow's words.
Status decode_png(std::string_view bytes, const PngSettings& settings, const Allocate& allocate);

// Three channels. All frames, or the first.
Status decode_gif(std::string_view bytes, bool all_frames, const Allocate& allocate);

// `channels` 0 (as in the file), 3 or 4.
Status decode_bmp(std::string_view bytes, int channels, const Allocate& allocate);

}  // namespace serval::operators::images
