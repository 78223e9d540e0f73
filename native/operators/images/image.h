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
};

// Supplies the memory for the pixels (frames * height * width * channels elements of 1 or 2 bytes),
// once their number is known. Errors end the decoding.
using Allocate = std::function<Result<std::span<uint8_t>>(const Size& size)>;

// Limit on the pixels and samples of an image (exclusive).
inline constexpr int64_t kSamplesMax = int64_t{1} << 29;

struct Crop {
  int64_t y = 0, x = 0, height = 0, width = 0;
};

struct JpegSettings {
  int channels = 0;  // 0: as in the file, at most 3; 1; 3
  int ratio = 1;     // the image is scaled down by 1, 2, 4 or 8
  bool fancy_upscaling = true;
  bool recover_truncated = false;
  float acceptable_fraction = 1.0f;
  bool accurate = false;  // the slower cosine transform
  const Crop* crop = nullptr;
};

// Errors: invalid_argument in TensorFlow's words.
Status decode_jpeg(std::string_view bytes, const JpegSettings& settings, const Allocate& allocate);
// Reads height, width and channels from the header.
Result<Size> jpeg_size(std::string_view bytes);

// `channels` 0 (as in the file) to 4. Elements have 16 bits if `wide`.
Status decode_png(std::string_view bytes, int channels, bool wide, const Allocate& allocate);

// Three channels. All frames, or the first.
Status decode_gif(std::string_view bytes, bool all_frames, const Allocate& allocate);

// `channels` 0 (as in the file), 3 or 4.
Status decode_bmp(std::string_view bytes, int channels, const Allocate& allocate);

}  // namespace serval::operators::images
