// Decodes PNG with libpng. The library longjmps on a fault: no object with a destructor may be
// alive between setjmp and that point, so all state is in one struct of the caller.
#include <csetjmp>
#include <cstring>

#include <png.h>

#include "operators/images/image.h"

namespace serval::operators::images {

namespace {

struct Decoding {
  std::string_view bytes;
  png_structp library = nullptr;
  png_infop info = nullptr;
  std::jmp_buf fault{};
  int channels = 0;
  int passes = 1;
  bool widens = false;  // the file has 8 bits, the output 16

  ~Decoding() {
    if (library != nullptr) png_destroy_read_struct(&library, &info, nullptr);
  }
};

[[noreturn]] void on_error(png_structp library, png_const_charp) {
  std::longjmp(static_cast<Decoding*>(png_get_error_ptr(library))->fault, 1);
}
void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp library, png_bytep to, size_t count) {
  auto& decoding = *static_cast<Decoding*>(png_get_io_ptr(library));
  if (count > decoding.bytes.size()) on_error(library, "");
  std::memcpy(to, decoding.bytes.data(), count);
  decoding.bytes.remove_prefix(count);
}

// Configures the library's conversion of pixels.
void choose_transforms(Decoding& decoding, int channels, bool wide) {
  png_structp library = decoding.library;
  const int color = png_get_color_type(library, decoding.info);
  const int depth = png_get_bit_depth(library, decoding.info);
  const bool transparent = png_get_valid(library, decoding.info, PNG_INFO_tRNS) != 0;
  if (channels == 0) {
    channels = color != PNG_COLOR_TYPE_PALETTE ? png_get_channels(library, decoding.info)
               : transparent                   ? 4
                                               : 3;
  }
  decoding.channels = channels;
  const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
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
  png_set_packing(library);
  decoding.passes = png_set_interlace_handling(library);
  if (wide) png_set_swap(library);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(library);
  const bool grey = (color & PNG_COLOR_MASK_COLOR) == 0;
  if (grey && depth < 8) png_set_expand_gray_1_2_4_to_8(library);
  if (channels < 3 && !grey) png_set_rgb_to_gray(library, 1, 0.299, 0.587);
  if (channels >= 3 && grey) png_set_gray_to_rgb(library);
  png_read_update_info(library, decoding.info);
}

bool start(Decoding& decoding, int channels, bool wide) {
  if (setjmp(decoding.fault) != 0) return false;
  decoding.library = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoding, on_error, on_warning);
  if (decoding.library == nullptr) return false;
  decoding.info = png_create_info_struct(decoding.library);
  if (decoding.info == nullptr) return false;
  png_set_read_fn(decoding.library, &decoding, read_bytes);
  // Dimensions are checked below in TensorFlow's words; stored chunks stay small.
  png_set_user_limits(decoding.library, 0x7fffffff, 0x7fffffff);
  png_set_chunk_malloc_max(decoding.library, 8u << 20);
  png_read_info(decoding.library, decoding.info);
  choose_transforms(decoding, channels, wide);
  return true;
}

bool read_rows(Decoding& decoding, uint8_t* out, size_t stride, size_t rows) {
  if (setjmp(decoding.fault) != 0) return false;
  // An interlaced image is completed pass by pass.
  for (int pass = 0; pass < decoding.passes; ++pass) {
    for (size_t i = 0; i < rows; ++i) png_read_row(decoding.library, out + i * stride, nullptr);
  }
  png_read_end(decoding.library, decoding.info);
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

Status decode_png(std::string_view bytes, int channels, bool wide, const Allocate& allocate) {
  Decoding decoding;
  decoding.bytes = bytes;
  if (!start(decoding, channels, wide)) {
    return invalid_argument("Invalid PNG. Failed to initialize decoder.");
  }
  const int64_t width = png_get_image_width(decoding.library, decoding.info);
  const int64_t height = png_get_image_height(decoding.library, decoding.info);
  constexpr int64_t kSideMax = int64_t{1} << 27;
  if (width <= 0 || height <= 0 || width >= kSideMax || height >= kSideMax ||
      width * height >= kSamplesMax) {
    return invalid_argument("PNG size too large for int: " + std::to_string(width) + " by " +
                            std::to_string(height));
  }
  const size_t elements = static_cast<size_t>(width) * static_cast<size_t>(decoding.channels);
  const size_t row_bytes = png_get_rowbytes(decoding.library, decoding.info);
  const size_t stride = elements * (wide ? 2 : 1);
  // Image data compresses to a thousandth at best: an image with too little data for its size is
  // refused before memory is allocated.
  const bool hollow = static_cast<uint64_t>(height) * row_bytes / 1100 > bytes.size();
  const Error invalid = invalid_argument("Invalid PNG data, size " + std::to_string(bytes.size()));
  if (row_bytes != (decoding.widens ? elements : stride) || hollow) return invalid;
  const Result<std::span<uint8_t>> memory = allocate({1, height, width, decoding.channels});
  if (!memory.ok()) return memory.error();
  uint8_t* out = memory.value().data();
  const auto rows = static_cast<size_t>(height);
  if (!read_rows(decoding, out, stride, rows)) return invalid;
  for (size_t i = 0; decoding.widens && i < rows; ++i) widen(out + i * stride, elements);
  return ok_status();
}

}  // namespace serval::operators::images
