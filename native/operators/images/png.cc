// Decodes PNG with libpng. The library longjmps on a fault: no object with a destructor may be
// alive between setjmp and that point, so all state is in one struct of the caller.
#include <csetjmp>
#include <cstring>

#include <png.h>

#include "operators/images/image.h"

namespace serval::operators::images {

namespace {

struct PngDecoding {
  std::string_view bytes;  // that the library has not read yet
  size_t size = 0;         // of the file
  Strict* strict = nullptr;
  png_structp library = nullptr;
  png_infop info = nullptr;
  std::jmp_buf fault{};
  int channels = 0;
  int passes = 1;
  bool widens = false;   // the file has 8 bits, the output 16
  bool indexed = false;  // the library writes indexes, which are checked and then replaced

  ~PngDecoding() {
    if (library != nullptr) png_destroy_read_struct(&library, &info, nullptr);
  }
};

void describe(PngDecoding& decoding, std::string reason) {
  if (decoding.strict == nullptr) return;
  decoding.strict->fault = std::move(reason);
  decoding.strict->at = decoding.size - decoding.bytes.size();
}

Error invalid_png(const PngDecoding& decoding) {
  return invalid_argument("Invalid PNG data, size " + std::to_string(decoding.size));
}

[[noreturn]] void on_error(png_structp library, png_const_charp reason) {
  auto& decoding = *static_cast<PngDecoding*>(png_get_error_ptr(library));
  describe(decoding, reason);
  std::longjmp(decoding.fault, 1);
}

// The library's warnings about a chunk begin with its name. Damage to the chunks of pixels changes
// the image; damage to others (texts, color profiles, times) does not.
void on_warning(png_structp library, png_const_charp reason) {
  const auto& decoding = *static_cast<PngDecoding*>(png_get_error_ptr(library));
  if (decoding.strict == nullptr) return;
  for (const char* chunk : {"IHDR: ", "PLTE: ", "tRNS: ", "IDAT: "}) {
    if (std::strncmp(reason, chunk, 6) == 0) on_error(library, reason);
  }
}

void read_bytes(png_structp library, png_bytep to, size_t count) {
  auto& decoding = *static_cast<PngDecoding*>(png_get_io_ptr(library));
  if (count > decoding.bytes.size()) {
    decoding.bytes = {};
    on_error(library, "the file is truncated");
  }
  std::memcpy(to, decoding.bytes.data(), count);
  decoding.bytes.remove_prefix(count);
}

// Configures the library's conversion of pixels.
void choose_transforms(PngDecoding& decoding, int channels, bool wide) {
  png_structp library = decoding.library;
  const int color = png_get_color_type(library, decoding.info);
  const int depth = png_get_bit_depth(library, decoding.info);
  const bool transparent = png_get_valid(library, decoding.info, PNG_INFO_tRNS) != 0;
  const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
  if (channels == 0 || channels == kAllChannels) {
    const bool palette = color == PNG_COLOR_TYPE_PALETTE;
    const bool adds_alpha = transparent && !has_alpha && (palette || channels == kAllChannels);
    channels = (palette ? 3 : png_get_channels(library, decoding.info)) + (adds_alpha ? 1 : 0);
  }
  decoding.channels = channels;
  png_set_packing(library);
  decoding.passes = png_set_interlace_handling(library);
  decoding.indexed = decoding.strict != nullptr && color == PNG_COLOR_TYPE_PALETTE;
  if (decoding.indexed) return png_read_update_info(library, decoding.info);
  if (channels % 2 == 0) {
    if (!has_alpha && transparent) png_set_tRNS_to_alpha(library);
    if (!has_alpha && !transparent) {
      png_set_add_alpha(library, (1u << depth) - 1, PNG_FILLER_AFTER);
    }
  } else if (has_alpha || transparent) {
    png_set_strip_alpha(library);
  }
  if (depth > 8 && !wide) png_set_strip_16(library);
  decoding.widens = depth <= 8 && wide;
  if (wide) png_set_swap(library);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(library);
  const bool grey = (color & PNG_COLOR_MASK_COLOR) == 0;
  if (grey && depth < 8) png_set_expand_gray_1_2_4_to_8(library);
  if (channels < 3 && !grey) png_set_rgb_to_gray(library, 1, 0.299, 0.587);
  if (channels >= 3 && grey) png_set_gray_to_rgb(library);
  png_read_update_info(library, decoding.info);
}

// Reads the file up to its pixels.
bool read_info(PngDecoding& decoding) {
  if (setjmp(decoding.fault) != 0) return false;
  decoding.library = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoding, on_error, on_warning);
  if (decoding.library == nullptr) return false;
  decoding.info = png_create_info_struct(decoding.library);
  if (decoding.info == nullptr) return false;
  png_set_read_fn(decoding.library, &decoding, read_bytes);
  // Dimensions are checked below in TensorFlow's words; stored chunks stay small, and texts, of
  // which each may be compressed a thousandfold, are skipped (1 is the library's word for that).
  png_set_user_limits(decoding.library, 0x7fffffff, 0x7fffffff);
  png_set_chunk_malloc_max(decoding.library, 8u << 20);
  png_set_chunk_cache_max(decoding.library, 1);
  png_read_info(decoding.library, decoding.info);
  return true;
}

// Checks the image's size before the library allocates a row. Image data compresses to a thousandth
// at best: an image with too little data for its size is refused.
Status check_size(PngDecoding& decoding) {
  const int64_t width = png_get_image_width(decoding.library, decoding.info);
  const int64_t height = png_get_image_height(decoding.library, decoding.info);
  const bool strict = decoding.strict != nullptr;
  const bool too_many = strict && width * height > decoding.strict->pixels_max;
  if (too_many) describe(decoding, too_many_pixels(decoding.strict->pixels_max, width, height));
  constexpr int64_t kSideMax = int64_t{1} << 27;
  if (too_many || width <= 0 || height <= 0 || width >= kSideMax || height >= kSideMax ||
      width * height >= kSamplesMax) {
    return invalid_argument("PNG size too large for int: " + std::to_string(width) + " by " +
                            std::to_string(height));
  }
  // Here still the size in the file.
  const size_t row_bytes = png_get_rowbytes(decoding.library, decoding.info);
  if (static_cast<uint64_t>(height) * row_bytes / 1100 <= decoding.size) return ok_status();
  describe(decoding, too_few_bytes(width, height));
  return invalid_png(decoding);
}

bool start(PngDecoding& decoding, const PngSettings& settings) {
  if (setjmp(decoding.fault) != 0) return false;
  choose_transforms(decoding, settings.channels, settings.wide);
  return true;
}

bool read_rows(PngDecoding& decoding, uint8_t* out, size_t stride, size_t rows) {
  if (setjmp(decoding.fault) != 0) return false;
  // An interlaced image is completed pass by pass.
  for (int pass = 0; pass < decoding.passes; ++pass) {
    for (size_t i = 0; i < rows; ++i) png_read_row(decoding.library, out + i * stride, nullptr);
  }
  png_read_end(decoding.library, decoding.info);
  return true;
}

// Replaces the indexes in a row's front by colors, in place: from the last to the first. Returns
// false if the palette has no such entry.
bool replace_indexes(PngDecoding& decoding, uint8_t* row, size_t width) {
  png_colorp palette = nullptr;
  png_bytep alphas = nullptr;
  int entries = 0, alpha_count = 0;
  png_get_PLTE(decoding.library, decoding.info, &palette, &entries);
  png_get_tRNS(decoding.library, decoding.info, &alphas, &alpha_count, nullptr);
  const auto channels = static_cast<size_t>(decoding.channels);
  for (size_t i = width; i-- > 0;) {
    const int index = row[i];
    if (index >= entries) {
      describe(decoding, "a pixel has the index " + std::to_string(index) +
                             ", but the palette has " + std::to_string(entries) + " entries");
      return false;
    }
    uint8_t* pixel = row + i * channels;
    if (channels == 4) pixel[3] = index < alpha_count ? alphas[index] : 255;
    pixel[0] = palette[index].red;
    pixel[1] = palette[index].green;
    pixel[2] = palette[index].blue;
  }
  return true;
}

// Widens each byte of a row's front half to 16 bits, in place: from the last to the first.
void widen(uint8_t* row, size_t elements) {
  for (size_t i = elements; i-- > 0;) {
    const uint8_t value = row[i];
    row[2 * i] = value;
    row[2 * i + 1] = value;
  }
}

}  // namespace

Status decode_png(std::string_view bytes, const PngSettings& settings, const Allocate& allocate) {
  PngDecoding decoding;
  decoding.bytes = bytes;
  decoding.size = bytes.size();
  decoding.strict = settings.strict;
  const Error no_start = invalid_argument("Invalid PNG. Failed to initialize decoder.");
  if (!read_info(decoding)) return no_start;
  if (Status size = check_size(decoding); !size.ok()) return size;
  if (!start(decoding, settings)) return no_start;
  const int64_t width = png_get_image_width(decoding.library, decoding.info);
  const int64_t height = png_get_image_height(decoding.library, decoding.info);
  const size_t elements = static_cast<size_t>(width) * static_cast<size_t>(decoding.channels);
  const size_t stride = elements * (settings.wide ? 2 : 1);
  const size_t from_library = decoding.indexed  ? static_cast<size_t>(width)
                              : decoding.widens ? elements
                                                : stride;
  const Error invalid = invalid_png(decoding);
  if (png_get_rowbytes(decoding.library, decoding.info) != from_library) return invalid;
  const Result<std::span<uint8_t>> memory =
      allocate({1, height, width, decoding.channels, settings.wide});
  if (!memory.ok()) return memory.error();
  uint8_t* out = memory.value().data();
  const auto rows = static_cast<size_t>(height);
  if (!read_rows(decoding, out, stride, rows)) return invalid;
  for (size_t i = 0; decoding.widens && i < rows; ++i) widen(out + i * stride, elements);
  for (size_t i = 0; decoding.indexed && i < rows; ++i) {
    if (!replace_indexes(decoding, out + i * stride, static_cast<size_t>(width))) return invalid;
  }
  return ok_status();
}

}  // namespace serval::operators::images
