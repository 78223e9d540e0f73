// Decodes JPEG with libjpeg-turbo. The library longjmps on a fault: no object with a destructor may
// be alive between setjmp and that point, so all state is in one struct of the caller.
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

#include "operators/images/image.h"

namespace serval::operators::images {

namespace {

// Limit on scans: a progressive file of a few kilobytes may name thousands of scans over a large
// image, each of them as much work as the image; real encoders use about ten.
constexpr int kScansMax = 500;

// Limit on pixels per byte of a file that is not to be recovered if truncated: it holds at least
// one bit for each 8x8 block of pixels, fewer only for subsampled colours. A file whose header
// promises more is refused before memory is allocated.
constexpr int64_t kPixelsPerByteMax = 4096;

// The state of one decoding.
struct Decoding {
  jpeg_decompress_struct library{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf fault{};
  std::string_view bytes;
  bool recover = false;
  Strict* strict = nullptr;
  // number of times that the library re-read the same bytes, and from where
  int again = 0;
  const JOCTET* again_from = nullptr;
  bool is_made = false;
  // Buffer for rows that are not written directly to the output.
  std::vector<uint8_t> row;

  ~Decoding() {
    if (is_made) jpeg_destroy_decompress(&library);
  }
};

template <typename Library>
Decoding& decoding_of(Library* library) {
  return *static_cast<Decoding*>(library->client_data);
}

// Describes a fault for strict decoding. The first description stays.
void describe(Decoding& decoding, std::string reason) {
  Strict* strict = decoding.strict;
  if (strict == nullptr || !strict->fault.empty()) return;
  strict->fault = std::move(reason);
  strict->at = decoding.bytes.size() - decoding.source.bytes_in_buffer;
}

[[noreturn]] void on_error(j_common_ptr library) {
  Decoding& decoding = decoding_of(library);
  if (decoding.strict != nullptr) {
    char reason[JMSG_LENGTH_MAX];
    decoding.errors.format_message(library, reason);
    describe(decoding, reason);
  }
  std::longjmp(decoding.fault, 1);
}
void on_message(j_common_ptr) {}

// Strict decoding: after these warnings the library invents pixels.
void on_warning(j_common_ptr library, int level) {
  if (level >= 0) return;
  switch (library->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: on_error(library);
    default: return;
  }
}

void on_progress(j_common_ptr library) {
  Decoding& decoding = decoding_of(library);
  if (decoding.library.input_scan_number <= kScansMax) return;
  describe(decoding, "expected at most " + std::to_string(kScansMax) + " scans");
  on_error(library);
}

void init_source(j_decompress_ptr library) {
  Decoding& decoding = decoding_of(library);
  decoding.source.next_input_byte = reinterpret_cast<const JOCTET*>(decoding.bytes.data());
  decoding.source.bytes_in_buffer = decoding.bytes.size();
}

constexpr JOCTET kEnd[2] = {0xFF, JPEG_EOI};

// No block of pixels takes this many bytes; a search for a marker would never end.
constexpr int kAgainMax = 65536;

[[noreturn]] void on_truncated(j_decompress_ptr library) {
  Decoding& decoding = decoding_of(library);
  decoding.source.bytes_in_buffer = 0;
  describe(decoding, "the file is truncated");
  on_error(reinterpret_cast<j_common_ptr>(library));
}

// If bytes remain, the library has read them since it last reported its position: it may re-read
// them in a file that is to be recovered (TensorFlow's results depend on that), and stops otherwise
// (the rows so far may suffice, unless decoding is strict). If none remain: supplies one end
// marker, or reports a fault.
boolean fill_source(j_decompress_ptr library) {
  Decoding& decoding = decoding_of(library);
  if (!decoding.bytes.empty() && decoding.source.bytes_in_buffer != 0) {
    if (decoding.strict != nullptr) on_truncated(library);
    if (!decoding.recover) return FALSE;
    const bool same = decoding.again_from == decoding.source.next_input_byte;
    decoding.again = same ? decoding.again + 1 : 0;
    decoding.again_from = decoding.source.next_input_byte;
    if (decoding.again < kAgainMax) return TRUE;
    decoding.again = 0;
    decoding.source.next_input_byte = nullptr;
  }
  if (!decoding.recover || decoding.bytes.empty() || decoding.source.next_input_byte == kEnd) {
    on_truncated(library);
  }
  decoding.source.next_input_byte = kEnd;
  decoding.source.bytes_in_buffer = sizeof(kEnd);
  return TRUE;
}

void skip_source(j_decompress_ptr library, long count) {
  jpeg_source_mgr& source = decoding_of(library).source;
  if (count <= 0) return;
  if (static_cast<size_t>(count) > source.bytes_in_buffer) {
    source.bytes_in_buffer = 0;
    (void)fill_source(library);
    return;
  }
  source.next_input_byte += count;
  source.bytes_in_buffer -= static_cast<size_t>(count);
}

void term_source(j_decompress_ptr) {}

// Call it after the caller's setjmp. Reads the header.
void open(Decoding& decoding) {
  decoding.library.err = jpeg_std_error(&decoding.errors);
  decoding.errors.error_exit = on_error;
  decoding.errors.output_message = on_message;
  if (decoding.strict != nullptr) decoding.errors.emit_message = on_warning;
  decoding.library.client_data = &decoding;
  jpeg_create_decompress(&decoding.library);
  decoding.is_made = true;
  decoding.source.init_source = init_source;
  decoding.source.fill_input_buffer = fill_source;
  decoding.source.skip_input_data = skip_source;
  decoding.source.resync_to_restart = jpeg_resync_to_restart;
  decoding.source.term_source = term_source;
  decoding.library.src = &decoding.source;
  decoding.progress.progress_monitor = on_progress;
  decoding.library.progress = &decoding.progress;
  jpeg_read_header(&decoding.library, TRUE);
}

// The values passed between the steps below; plain data, because of longjmp.
struct Plan {
  int channels = 0;
  int64_t height = 0, width = 0;  // of the output
  int64_t skipped_rows = 0;
  int64_t skipped_columns = 0;  // in each row from the library
};

// Applies settings, output size and crop. False: refused.
bool start(Decoding& decoding, const JpegSettings& settings, Plan& plan) {
  jpeg_decompress_struct& library = decoding.library;
  plan.channels = settings.channels;
  if (plan.channels == 0) plan.channels = library.num_components < 3 ? library.num_components : 3;
  if (plan.channels != 1 && plan.channels != 3) {
    describe(decoding,
             "expected 1, 3 or 4 components, got " + std::to_string(library.num_components));
    return false;
  }
  const bool four = library.jpeg_color_space == JCS_CMYK || library.jpeg_color_space == JCS_YCCK;
  library.out_color_space = plan.channels == 1 ? JCS_GRAYSCALE : four ? JCS_CMYK : JCS_RGB;
  library.do_fancy_upsampling = settings.fancy_upscaling ? TRUE : FALSE;
  library.scale_num = 1;
  library.scale_denom = static_cast<unsigned>(settings.ratio);
  library.dct_method = settings.accurate ? JDCT_ISLOW : JDCT_IFAST;
  jpeg_calc_output_dimensions(&library);
  const int64_t full_height = library.output_height, full_width = library.output_width;
  if (full_height <= 0 || full_width <= 0) return false;
  const int64_t pixels = full_height * full_width;
  const bool too_large = decoding.strict != nullptr && pixels > decoding.strict->pixels_max;
  if (too_large) {
    describe(decoding, too_many_pixels(decoding.strict->pixels_max, full_width, full_height));
  }
  if (too_large || pixels * library.num_components >= kSamplesMax) return false;
  const bool whole = !settings.recover_truncated && settings.acceptable_fraction >= 1;
  const auto bytes = static_cast<int64_t>(decoding.bytes.size());
  if (whole && pixels / kPixelsPerByteMax > bytes) {
    describe(decoding, too_few_bytes(full_width, full_height));
    return false;
  }
  jpeg_start_decompress(&library);
  plan.height = full_height;
  plan.width = full_width;
  if (settings.crop == nullptr) return true;
  const Crop& crop = *settings.crop;
  if (crop.width <= 0 || crop.height <= 0 || crop.x < 0 || crop.y < 0 ||
      crop.y + crop.height > full_height || crop.x + crop.width > full_width) {
    return false;
  }
  plan.height = crop.height;
  plan.width = crop.width;
  // The library moves the left edge to the start of one of its blocks.
  auto left = static_cast<JDIMENSION>(crop.x), wide = static_cast<JDIMENSION>(crop.width);
  jpeg_crop_scanline(&library, &left, &wide);
  plan.skipped_columns = crop.x - left;
  plan.skipped_rows = jpeg_skip_scanlines(&library, static_cast<JDIMENSION>(crop.y));
  return plan.skipped_rows == crop.y;
}

// Converts inks to light. Adobe's files store the inks inverted.
void convert_inks(const uint8_t* from, int64_t pixels, bool adobe, uint8_t* to) {
  for (; pixels > 0; --pixels, from += 4, to += 3) {
    const int black = adobe ? from[3] : 255 - from[3];
    for (int i = 0; i < 3; ++i) {
      to[i] = static_cast<uint8_t>(black * (adobe ? from[i] : 255 - from[i]) / 255);
    }
  }
}

// Ends the decoding as TensorFlow does: reads the data after the rows, where a fault fails the
// image.
void finish(Decoding& decoding, const Plan& plan, bool cropped) {
  jpeg_decompress_struct& library = decoding.library;
  if (cropped && library.output_scanline < library.output_height) {
    const int64_t rest = int64_t{library.output_height} - plan.skipped_rows - plan.height;
    jpeg_skip_scanlines(&library, static_cast<JDIMENSION>(rest));
  }
  jpeg_finish_decompress(&library);
}

// Reads the rows; false on a fault that leaves too little. Missing rows are black, or repeat the
// last one if truncated files are to be recovered.
bool read_rows(Decoding& decoding, const JpegSettings& settings, const Plan& plan, uint8_t* out) {
  jpeg_decompress_struct& library = decoding.library;
  const bool inks = library.out_color_space == JCS_CMYK;
  const int64_t stride = plan.width * plan.channels;
  const bool direct = !inks && library.output_width == plan.width;
  const int64_t row_count = plan.skipped_rows + plan.height;
  uint8_t* to = out;
  int64_t read = 0;
  while (library.output_scanline < row_count) {
    JSAMPROW row = direct ? to : decoding.row.data();
    if (jpeg_read_scanlines(&library, &row, 1) == 0) break;
    const uint8_t* from = row + plan.skipped_columns * library.output_components;
    if (inks) convert_inks(from, plan.width, library.saw_Adobe_marker != 0, to);
    else if (!direct) std::memcpy(to, from, static_cast<size_t>(stride));
    to += stride;
    ++read;
  }
  if (read == plan.height || settings.recover_truncated) {
    for (int64_t i = read; i < plan.height; ++i, to += stride) {
      if (i == 0) std::memset(to, 0, static_cast<size_t>(stride));
      else std::memcpy(to, to - stride, static_cast<size_t>(stride));
    }
    library.output_scanline = static_cast<JDIMENSION>(row_count);
    finish(decoding, plan, settings.crop != nullptr);
    return true;
  }
  const float fraction = static_cast<float>(read) / static_cast<float>(plan.height);
  const float acceptable = settings.acceptable_fraction < 1 ? settings.acceptable_fraction : 1;
  if (fraction < acceptable) return false;
  std::memset(to, 0, static_cast<size_t>((plan.height - read) * stride));
  return true;
}

Error bad_jpeg() {
  return invalid_argument("jpeg::Uncompress failed. Invalid JPEG data or crop window.");
}

// The two halves of a decoding, each with its own setjmp: memory is allocated between them, where
// objects with destructors may be alive.
bool start_safely(Decoding& decoding, const JpegSettings& settings, Plan& plan) {
  if (setjmp(decoding.fault) != 0) return false;
  open(decoding);
  return start(decoding, settings, plan);
}

bool read_safely(Decoding& decoding, const JpegSettings& settings, const Plan& plan, uint8_t* out) {
  if (setjmp(decoding.fault) != 0) return false;
  return read_rows(decoding, settings, plan, out);
}

}  // namespace

Status decode_jpeg(std::string_view bytes, const JpegSettings& settings, const Allocate& allocate) {
  Decoding decoding;
  decoding.bytes = bytes;
  decoding.recover = settings.recover_truncated;
  decoding.strict = settings.strict;
  Plan plan;
  if (!start_safely(decoding, settings, plan)) return bad_jpeg();
  const Result<std::span<uint8_t>> memory = allocate({1, plan.height, plan.width, plan.channels});
  if (!memory.ok()) return memory.error();
  const jpeg_decompress_struct& library = decoding.library;
  const auto components = static_cast<size_t>(library.output_components);
  decoding.row.resize(library.output_width * components);
  if (!read_safely(decoding, settings, plan, memory.value().data())) return bad_jpeg();
  return ok_status();
}

Result<Size> jpeg_size(std::string_view bytes) {
  Decoding decoding;
  decoding.bytes = bytes;
  const auto read = [](Decoding& at) {
    if (setjmp(at.fault) != 0) return false;
    open(at);
    jpeg_calc_output_dimensions(&at.library);
    return true;
  };
  if (!read(decoding)) {
    return invalid_argument("Invalid JPEG data, size " + std::to_string(bytes.size()));
  }
  const jpeg_decompress_struct& library = decoding.library;
  return Size{1, library.output_height, library.output_width, library.output_components};
}

}  // namespace serval::operators::images
