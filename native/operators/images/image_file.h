// Decodes image files for `serval predict`, with all the channels and bits that a file has. Pure
// but for the memory it requests; control plane, any thread. Input may be arbitrary bytes.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/error.h"

namespace serval::operators::images {

struct ImageForm {
  int64_t width = 0, height = 0;
  int64_t channels = 0;      // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha
  int64_t sample_bytes = 1;  // 2 for 16-bit PNGs: native byte order
};

// Supplies the memory for width * height * channels samples, once their number is known. Errors end
// the decoding.
using AllocateImage = std::function<Result<std::span<uint8_t>>(const ImageForm& form)>;

// Decodes a PNG or a JPEG, by its content, into rows from the top with interleaved channels.
// PNG: 1, 2 and 4 bits are scaled to 8, a palette becomes RGB, a transparent color or a transparent
// palette an alpha channel. JPEG: libjpeg's accurate cosine transform and smooth upsampling, as in
// Pillow and OpenCV; CMYK becomes RGB. Gamma, color profiles and EXIF's orientation are not
// applied. Errors: invalid_argument "FORMAT: byte N of M: reason"; also for damage that leaves
// pixels to guess, and for more than `pixels_max` pixels.
Status decode_image_file(std::string_view bytes, int64_t pixels_max, const AllocateImage& allocate);

}  // namespace serval::operators::images
