// BMP without compression: 8 (grey), 24 and 32 bits per pixel. Hot path; pure.
#include <cstring>

#include "operators/images/image.h"

namespace serval::operators::images {

namespace {

template <typename T>
T little(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

struct Header {
  int64_t pixels_at = 0, width = 0, height = 0, channels = 0;
  bool top_down = false;
  int64_t stride() const { return (channels * width + 3) / 4 * 4; }
};

Status read_header(std::string_view bytes, Header& header) {
  if (bytes.size() < 32) {
    return invalid_argument(
        "Incomplete bmp content, requires at least 32 bytes to find the header size, width, "
        "height, and bpp, got " +
        std::to_string(bytes.size()) + " bytes");
  }
  header.pixels_at = little<int32_t>(bytes, 10);
  header.width = little<int32_t>(bytes, 18);
  const int64_t height = little<int32_t>(bytes, 22);
  header.top_down = height < 0;
  header.height = height < 0 ? -height : height;
  header.channels = little<int16_t>(bytes, 28) / 8;
  if (header.channels != 1 && header.channels != 3 && header.channels != 4) {
    return invalid_argument("Number of channels inherent in the image must be 1, 3 or 4, was " +
                            std::to_string(header.channels));
  }
  if (header.width <= 0) return invalid_argument("Width must be positive");
  if (height == 0) return invalid_argument("Height must be nonzero");
  if (header.pixels_at < 0) return invalid_argument("header size must be nonnegative");
  constexpr int64_t kPixelsMax = INT32_MAX / 8;
  if (header.width * header.height >= kPixelsMax) {
    return invalid_argument("Total possible pixel bytes must be less than 2^30");
  }
  // Requires that the pixels fill the rest of the file exactly.
  const int64_t extra =
      static_cast<int64_t>(bytes.size()) - header.pixels_at - header.stride() * header.height;
  if (extra != 0) {
    return invalid_argument(
        "Input size should match (header_size + row_size * abs_height) but they differ by " +
        std::to_string(extra));
  }
  return ok_status();
}

// Converts BGR(A) or grey to RGB(A).
void convert_row(const uint8_t* from, const Header& header, int64_t channels, uint8_t* to) {
  for (int64_t x = 0; x < header.width; ++x, from += header.channels, to += channels) {
    const bool grey = header.channels == 1;
    to[0] = grey ? from[0] : from[2];
    if (channels < 3) continue;
    to[1] = grey ? from[0] : from[1];
    to[2] = from[0];
    if (channels == 4) to[3] = header.channels == 4 ? from[3] : 255;
  }
}

}  // namespace

Status decode_bmp(std::string_view bytes, int channels, const Allocate& allocate) {
  Header header;
  Status status = read_header(bytes, header);
  if (!status.ok()) return status;
  const int64_t out_channels = channels != 0 ? channels : header.channels;
  const Result<std::span<uint8_t>> memory =
      allocate({1, header.height, header.width, out_channels});
  if (!memory.ok()) return memory.error();
  const auto* pixels = reinterpret_cast<const uint8_t*>(bytes.data()) + header.pixels_at;
  for (int64_t y = 0; y < header.height; ++y) {
    const int64_t row = header.top_down ? y : header.height - 1 - y;
    convert_row(pixels + row * header.stride(), header, out_channels,
                memory.value().data() + y * header.width * out_channels);
  }
  return ok_status();
}

}  // namespace serval::operators::images
