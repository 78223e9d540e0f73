// Decodes image files: checks the header of a PNG, because libpng's words for its faults say
// little, and words the faults that the decoders describe.
#include "operators/images/image_file.h"

#include <string>

#include "operators/images/image.h"

namespace serval::operators::images {

namespace {

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1A\n";
constexpr std::string_view kJpegSignature = "\xFF\xD8";
constexpr size_t kPngHeaderAt = kPngSignature.size();
constexpr size_t kPngHeaderBytes = 13;
constexpr size_t kPngFieldsAt = kPngHeaderAt + 8;  // after the chunk's length and name

Error fault(std::string_view format, std::string_view bytes, size_t at, std::string_view reason) {
  return invalid_argument(std::string(format) + ": byte " + std::to_string(at) + " of " +
                          std::to_string(bytes.size()) + ": " + std::string(reason));
}

uint32_t big_endian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// The depths of a PNG's color type; empty: there is no such type. Source: PNG 11.2.1.
std::string_view depths_of(int color) {
  switch (color) {
    case 0: return "1, 2, 4, 8 or 16";
    case 3: return "1, 2, 4 or 8";
    case 2:
    case 4:
    case 6: return "8 or 16";
    default: return "";
  }
}

bool is_depth(int depth, int color) {
  if (depth == 8) return true;
  if (depth == 16) return color != 3;
  return (depth == 1 || depth == 2 || depth == 4) && (color == 0 || color == 3);
}

// Checks the header chunk; sets `wide` to whether samples have 16 bits.
Status check_png_header(std::string_view bytes, bool& wide) {
  const auto bad = [&](size_t at, const std::string& reason) {
    return fault("PNG", bytes, at, reason);
  };
  const auto field = [&](size_t at) { return static_cast<uint8_t>(bytes[kPngFieldsAt + at]); };
  if (bytes.size() < kPngFieldsAt + kPngHeaderBytes) {
    return bad(bytes.size(), "the file is truncated: expected a header of 13 bytes at byte 16");
  }
  const uint32_t length = big_endian(bytes, kPngHeaderAt);
  if (length != kPngHeaderBytes || bytes.substr(kPngHeaderAt + 4, 4) != "IHDR") {
    return bad(kPngHeaderAt, "expected a header (IHDR) of 13 bytes first");
  }
  const uint32_t width = big_endian(bytes, kPngFieldsAt);
  const uint32_t height = big_endian(bytes, kPngFieldsAt + 4);
  if (width == 0 || height == 0) {
    return bad(kPngFieldsAt, "expected at least 1 x 1 pixels, got " + std::to_string(width) +
                                 " x " + std::to_string(height));
  }
  const int depth = field(8), color = field(9);
  const std::string_view depths = depths_of(color);
  if (depths.empty()) {
    return bad(kPngFieldsAt + 9,
               "expected the color type 0, 2, 3, 4 or 6, got " + std::to_string(color));
  }
  if (!is_depth(depth, color)) {
    return bad(kPngFieldsAt + 8, "expected " + std::string(depths) + " bits for the color type " +
                                     std::to_string(color) + ", got " + std::to_string(depth));
  }
  constexpr std::string_view kMethods[] = {"compression", "filter", "interlace"};
  for (size_t i = 0; i < std::size(kMethods); ++i) {
    const int method = field(10 + i), highest = i == 2 ? 1 : 0;
    if (method <= highest) continue;
    return bad(kPngFieldsAt + 10 + i,
               "unknown " + std::string(kMethods[i]) + " method " + std::to_string(method));
  }
  wide = depth == 16;
  return ok_status();
}

Error not_an_image(std::string_view bytes) {
  std::string got = "an empty file";
  switch (format_of(bytes)) {
    case Format::Gif: got = "GIF"; break;
    case Format::Bmp: got = "BMP"; break;
    case Format::Webp: got = "WebP"; break;
    default: {
      if (bytes.empty()) break;
      got = "a file that begins with";
      constexpr std::string_view kDigits = "0123456789abcdef";
      for (const char byte : bytes.substr(0, 4)) {
        const auto value = static_cast<uint8_t>(byte);
        got += {' ', kDigits[value >> 4], kDigits[value & 15]};
      }
    }
  }
  return invalid_argument("expected a PNG or JPEG image, got " + got);
}

}  // namespace

Status decode_image_file(std::string_view bytes, int64_t pixels_max,
                         const AllocateImage& allocate) {
  const bool png = bytes.starts_with(kPngSignature);
  if (!png && !bytes.starts_with(kJpegSignature)) return not_an_image(bytes);
  Strict strict;
  strict.pixels_max = pixels_max;
  const auto memory = [&](const Size& size) {
    return allocate({size.width, size.height, size.channels, size.wide ? 2 : 1});
  };
  Status decoded;
  if (png) {
    PngSettings settings{kAllChannels, false, &strict};
    Status header = check_png_header(bytes, settings.wide);
    if (!header.ok()) return header;
    decoded = decode_png(bytes, settings, memory);
  } else {
    JpegSettings settings;
    settings.accurate = true;
    settings.strict = &strict;
    decoded = decode_jpeg(bytes, settings, memory);
  }
  // Without a description, the caller supplied no memory: the error is its own.
  if (decoded.ok() || strict.fault.empty()) return decoded;
  return fault(png ? "PNG" : "JPEG", bytes, strict.at, strict.fault);
}

}  // namespace serval::operators::images
