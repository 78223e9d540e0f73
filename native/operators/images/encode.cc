// Encodes PNG with libpng and JPEG with libjpeg-turbo, into memory. The libraries longjmp on a
// fault: no object with a destructor may be alive between setjmp and that point, so all state is in
// one struct of the caller.
#include "operators/images/encode.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <jpeglib.h>
#include <png.h>

namespace serval::operators::images {
namespace {

constexpr int kMemoryLevel = 9;

struct PngEncoding {
  png_structp library = nullptr;
  png_infop info = nullptr;
  std::jmp_buf fault{};
  std::string file;
  PngEncoding() = default;
  PngEncoding(const PngEncoding&) = delete;
  PngEncoding& operator=(const PngEncoding&) = delete;
  ~PngEncoding() {
    if (library != nullptr) png_destroy_write_struct(&library, &info);
  }
};

[[noreturn]] void on_png_error(png_structp library, png_const_charp) {
  std::longjmp(static_cast<PngEncoding*>(png_get_error_ptr(library))->fault, 1);
}
void on_png_warning(png_structp, png_const_charp) {}
void append(png_structp library, png_bytep bytes, size_t count) {
  static_cast<PngEncoding*>(png_get_io_ptr(library))
      ->file.append(reinterpret_cast<const char*>(bytes), count);
}
void flush(png_structp) {}

bool write_png(PngEncoding& encoding, const Pixels& pixels, bool wide, int compression) {
  constexpr int kColors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(encoding.fault) != 0) return false;
  png_structp library = encoding.library;
  png_set_write_fn(library, &encoding, append, flush);
  png_set_compression_level(library, compression);
  png_set_compression_mem_level(library, kMemoryLevel);
  png_set_IHDR(library, encoding.info, static_cast<png_uint_32>(pixels.width),
               static_cast<png_uint_32>(pixels.height), wide ? 16 : 8, kColors[pixels.channels - 1],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(library, encoding.info);
  if (wide) png_set_swap(library);
  const size_t stride = static_cast<size_t>(pixels.width * pixels.channels) * (wide ? 2U : 1U);
  for (size_t row = 0; row < static_cast<size_t>(pixels.height); ++row) {
    png_write_row(library, pixels.bytes.data() + row * stride);
  }
  png_write_end(library, nullptr);
  return true;
}

struct JpegEncoding {
  jpeg_compress_struct library{};
  jpeg_error_mgr errors{};
  std::jmp_buf fault{};
  unsigned char* memory = nullptr;
  unsigned long size = 0;  // the library's type
  JpegEncoding() = default;
  JpegEncoding(const JpegEncoding&) = delete;
  JpegEncoding& operator=(const JpegEncoding&) = delete;
  ~JpegEncoding() {
    jpeg_destroy_compress(&library);
    std::free(memory);  // allocated by the library's malloc
  }
};

[[noreturn]] void on_jpeg_error(j_common_ptr library) {
  std::longjmp(static_cast<JpegEncoding*>(library->client_data)->fault, 1);
}
void on_jpeg_message(j_common_ptr) {}

void set_up(jpeg_compress_struct& library, const Pixels& pixels, const JpegOptions& options) {
  library.image_width = static_cast<JDIMENSION>(pixels.width);
  library.image_height = static_cast<JDIMENSION>(pixels.height);
  library.input_components = static_cast<int>(pixels.channels);
  library.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&library);
  if (options.optimize_size) library.optimize_coding = TRUE;
  library.density_unit = static_cast<UINT8>(options.density_unit);
  library.X_density = static_cast<UINT16>(options.x_density);
  library.Y_density = static_cast<UINT16>(options.y_density);
  jpeg_set_quality(&library, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&library);
  if (options.chroma_downsampling) return;
  for (int i = 0; i < library.num_components; ++i) {
    library.comp_info[i].h_samp_factor = 1;
    library.comp_info[i].v_samp_factor = 1;
  }
}

bool write_jpeg(JpegEncoding& encoding, const Pixels& pixels, const JpegOptions& options,
                const std::string& packet) {
  constexpr int kFirstMarker = JPEG_APP0 + 1;
  jpeg_compress_struct& library = encoding.library;
  library.err = jpeg_std_error(&encoding.errors);
  encoding.errors.error_exit = on_jpeg_error;
  encoding.errors.output_message = on_jpeg_message;
  library.client_data = &encoding;
  if (setjmp(encoding.fault) != 0) return false;
  jpeg_create_compress(&library);
  jpeg_mem_dest(&library, &encoding.memory, &encoding.size);
  set_up(library, pixels, options);
  jpeg_start_compress(&library, TRUE);
  if (!packet.empty()) {
    jpeg_write_marker(&library, kFirstMarker, reinterpret_cast<const JOCTET*>(packet.data()),
                      static_cast<unsigned>(packet.size()));
  }
  const size_t stride = static_cast<size_t>(pixels.width * pixels.channels);
  for (size_t row = 0; row < static_cast<size_t>(pixels.height); ++row) {
    JSAMPROW line = const_cast<JSAMPROW>(pixels.bytes.data() + row * stride);
    (void)jpeg_write_scanlines(&library, &line, 1);
  }
  jpeg_finish_compress(&library);
  return true;
}

}  // namespace

Result<std::string> encode_png(const Pixels& pixels, bool wide, int compression) {
  PngEncoding encoding;
  encoding.library =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &encoding, on_png_error, on_png_warning);
  if (encoding.library != nullptr) encoding.info = png_create_info_struct(encoding.library);
  if (encoding.info == nullptr || !write_png(encoding, pixels, wide, compression)) {
    return invalid_argument("PNG encoding failed");
  }
  return std::move(encoding.file);
}

Result<std::string> encode_jpeg(const Pixels& pixels, const JpegOptions& options) {
  constexpr std::string_view kNamespace = "http://ns.adobe.com/xap/1.0/";
  std::string packet;
  if (!options.xmp_metadata.empty()) {
    packet = std::string(kNamespace) + '\0' + options.xmp_metadata;
  }
  JpegEncoding encoding;
  if (!write_jpeg(encoding, pixels, options, packet)) {
    return invalid_argument("JPEG encoding failed");
  }
  return std::string(reinterpret_cast<const char*>(encoding.memory), encoding.size);
}

}  // namespace serval::operators::images
