// Encodes pixels as files: the encoders of EncodePng and EncodeJpeg. Hot path; pure but for memory.
// Source: tensorflow/core/lib/{png/png_io,jpeg/jpeg_mem}.cc.
#pragma once

#include <span>
#include <string>

#include "base/error.h"

namespace serval::operators::images {

struct Pixels {
  std::span<const uint8_t> bytes;
  int64_t height = 0, width = 0, channels = 0;
};

// 1 to 4 channels of 8 bits, or of 16 if `wide`. `compression`: -1 (zlib's default) to 9.
Result<std::string> encode_png(const Pixels& pixels, bool wide, int compression);

struct JpegOptions {
  int quality = 95;
  bool progressive = false, optimize_size = false, chroma_downsampling = true;
  int density_unit = 1;  // 1: per inch, 2: per centimetre
  int x_density = 300, y_density = 300;
  std::string xmp_metadata;
};

// 1 (grey) or 3 channels of 8 bits.
Result<std::string> encode_jpeg(const Pixels& pixels, const JpegOptions& options);

}  // namespace serval::operators::images
