// The image operators: DecodeJpeg, DecodeAndCropJpeg, DecodePng, DecodeBmp, DecodeGif, DecodeImage,
// ExtractJpegShape. All but the last detect the format from the bytes rather than by their name,
// within TensorFlow's limits for each. Hot path. Source: results of TensorFlow 2.21.
#include <cmath>
#include <cstring>

#include "operators/groups.h"
#include "operators/images/image.h"
#include "operators/strings/values.h"

namespace serval::operators {

namespace images {

Format format_of(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xD8\xFF")) return Format::Jpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return Format::Png;
  if (bytes.starts_with("GIF8")) return Format::Gif;
  if (bytes.starts_with("BM")) return Format::Bmp;
  if (bytes.starts_with("RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WEBP") {
    return Format::Webp;
  }
  return Format::Unknown;
}

}  // namespace images

namespace {

using images::Format;
using images::Size;

enum class Operator : uint8_t { Jpeg, CropJpeg, Png, Bmp, Gif, Image };

constexpr std::string_view kNames[] = {"DecodeJpeg", "DecodeAndCropJpeg", "DecodePng",
                                       "DecodeBmp",  "DecodeGif",         "DecodeImage"};

std::string name_of(Operator which) { return std::string(kNames[static_cast<size_t>(which)]); }

struct Settings {
  Operator which = Operator::Image;
  int channels = 0;
  DType dtype = DType::Uint8;
  bool expand_animations = true;
  images::JpegSettings jpeg;
};

// TensorFlow scales 8 bits to 16 by 256, not 257.
void widen(std::span<const uint8_t> from, std::span<uint8_t> to) {
  for (size_t i = 0; i < from.size(); ++i) {
    const auto value = static_cast<uint16_t>(from[i] * 256);
    std::memcpy(to.data() + 2 * i, &value, sizeof(value));
  }
}

template <typename T>
void to_floats(std::span<const uint8_t> from, float scale, std::span<uint8_t> to) {
  for (size_t i = 0; i * sizeof(T) < from.size(); ++i) {
    T value;
    std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
    const float real = static_cast<float>(value) * scale;
    std::memcpy(to.data() + i * sizeof(real), &real, sizeof(real));
  }
}

class DecodeImage : public Kernel {
 public:
  explicit DecodeImage(Settings settings) : set_(settings) {}

  template <Operator kWhich>
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    Settings settings;
    settings.which = kWhich;
    Status status = read_jpeg_settings(attributes, settings);
    if (status.ok()) status = read_common_settings(attributes, settings);
    if (!status.ok()) return std::move(status.error());
    return std::unique_ptr<Kernel>(std::make_unique<DecodeImage>(settings));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    if (!is_scalar(input.value())) {
      return invalid_argument("`contents` must be scalar but got shape" +
                              input.value().shape.to_string());
    }
    const std::string_view bytes = input.value().strings[0];
    if (bytes.empty()) return invalid_argument("Input is empty.");
    if (bytes.size() > INT32_MAX) {
      return invalid_argument("Input contents are too large for int: " +
                              std::to_string(bytes.size()));
    }
    switch (images::format_of(bytes)) {
      case Format::Jpeg: return decode_jpeg(context, bytes);
      case Format::Png: return decode_png(context, bytes);
      case Format::Gif: return decode_gif(context, bytes);
      case Format::Bmp: return decode_bmp(context, bytes);
      case Format::Webp:
        return make_error(ErrorCode::Unimplemented, "WebP images are not supported");
      case Format::Unknown: break;
    }
    return invalid_argument(
        "Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required.");
  }

 private:
  static Status read_jpeg_settings(const KernelAttributes& attributes, Settings& settings) {
    if (settings.which != Operator::Jpeg && settings.which != Operator::CropJpeg) {
      return ok_status();
    }
    images::JpegSettings& jpeg = settings.jpeg;
    const int64_t ratio = attributes.integer("ratio", 1);
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
      return invalid_attribute("ratio must be 1, 2, 4, or 8, got " + std::to_string(ratio));
    }
    jpeg.ratio = static_cast<int>(ratio);
    jpeg.fancy_upscaling = attributes.integer("fancy_upscaling", 1) != 0;
    jpeg.recover_truncated = attributes.integer("try_recover_truncated", 0) != 0;
    jpeg.acceptable_fraction = attributes.real("acceptable_fraction", 1.0f);
    const std::string method = attributes.text("dct_method", "");
    if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
      return invalid_attribute(
          "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
    }
    jpeg.accurate = method == "INTEGER_ACCURATE";
    return ok_status();
  }

  static Status read_common_settings(const KernelAttributes& attributes, Settings& settings) {
    if (settings.which == Operator::Gif) {
      settings.channels = 3;
      return ok_status();
    }
    const int64_t channels = attributes.integer("channels", 0);
    if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
      return invalid_attribute("`channels` must be 0, 1, 3 or 4 but got " +
                               std::to_string(channels));
    }
    settings.channels = static_cast<int>(channels);
    if (settings.which != Operator::Png && settings.which != Operator::Image) return ok_status();
    constexpr DType kAllowed[] = {DType::Uint8, DType::Uint16, DType::Fp32};
    const bool png = settings.which == Operator::Png;
    const Result<DType> dtype =
        dtype_attribute(attributes, "dtype", std::span(kAllowed).first(png ? 2 : 3));
    if (!dtype.ok()) return dtype.error();
    settings.dtype = dtype.value();
    settings.expand_animations = attributes.integer("expand_animations", 1) != 0;
    return ok_status();
  }

  // Decodes into the output, through a buffer if the elements have another type. `bits` of the
  // decoder's elements: 8 or 16. `frames_first`: the output has four dims.
  template <typename Decode>
  Status store(KernelContext& context, int bits, bool frames_first, Decode decode) const {
    std::vector<uint8_t> buffer;
    std::span<uint8_t> out;
    const bool direct = dtype_bytes(set_.dtype) * 8 == static_cast<size_t>(bits);
    Status status = decode([&](const Size& size) -> Result<std::span<uint8_t>> {
      Shape shape;
      if (frames_first) (void)shape.push_back(size.frames);
      for (int64_t dim : {size.height, size.width, size.channels}) (void)shape.push_back(dim);
      Result<std::span<uint8_t>> memory = context.output(0, set_.dtype, shape);
      if (!memory.ok() || direct) return memory;
      out = memory.value();
      buffer.resize(out.size() / dtype_bytes(set_.dtype) * static_cast<size_t>(bits / 8));
      return std::span<uint8_t>(buffer);
    });
    if (!status.ok() || direct) return status;
    if (set_.dtype == DType::Uint16) {
      widen(buffer, out);
    } else if (bits == 16) {
      to_floats<uint16_t>(buffer, static_cast<float>(1. / 65535), out);
    } else {
      to_floats<uint8_t>(buffer, static_cast<float>(1. / 255), out);
    }
    return ok_status();
  }

  Error wrong_operator(std::string_view format, std::string_view better) const {
    const std::string detected(format);
    if (set_.which == Operator::CropJpeg) {
      return invalid_argument("DecodeAndCropJpeg operation can run on JPEG only, but detected " +
                              detected + ".");
    }
    return invalid_argument("Trying to decode " + detected + " format using DecodeBmp op. Use `" +
                            std::string(better) + "` or `decode_image` instead.");
  }

  Status decode_jpeg(KernelContext& context, std::string_view bytes) const {
    if (set_.channels == 4) return invalid_argument("JPEG does not support 4 channels");
    if (set_.which == Operator::Bmp) return wrong_operator("JPEG", "decode_jpeg");
    images::JpegSettings settings = set_.jpeg;
    settings.channels = set_.channels;
    images::Crop crop;
    if (set_.which == Operator::CropJpeg) {
      Status status = read_crop(context, crop);
      if (!status.ok()) return status;
      settings.crop = &crop;
    }
    return store(context, 8, set_.which == Operator::Gif, [&](const images::Allocate& allocate) {
      return images::decode_jpeg(bytes, settings, allocate);
    });
  }

  static Status read_crop(KernelContext& context, images::Crop& crop) {
    const Result<TensorView> window = integer_input(context, 1);
    if (!window.ok()) return window.error();
    const Shape& shape = window.value().shape;
    if (shape.rank() != 1) {
      return invalid_argument("crop_window must be 1-D, got shape " + shape.to_string());
    }
    if (shape[0] != 4) {
      return invalid_argument("crop_size must have four elements " + shape.to_string());
    }
    crop = {integer_at(window.value(), 0), integer_at(window.value(), 1),
            integer_at(window.value(), 2), integer_at(window.value(), 3)};
    for (int64_t value : {crop.y, crop.x, crop.height, crop.width}) {
      if (value > INT32_MAX) return invalid_argument("crop_window: expected 32-bit numbers");
    }
    return ok_status();
  }

  Status decode_png(KernelContext& context, std::string_view bytes) const {
    if (set_.which == Operator::Bmp || set_.which == Operator::CropJpeg) {
      return wrong_operator("PNG", "decode_png");
    }
    const bool wide = set_.dtype != DType::Uint8;
    return store(context, wide ? 16 : 8, set_.which == Operator::Gif,
                 [&](const images::Allocate& allocate) {
                   return images::decode_png(bytes, {set_.channels, wide}, allocate);
                 });
  }

  Status decode_gif(KernelContext& context, std::string_view bytes) const {
    if (set_.channels != 0 && set_.channels != 3) {
      return invalid_argument("channels must be 0 or 3 for GIF, got " +
                              std::to_string(set_.channels));
    }
    if (set_.which == Operator::Bmp || set_.which == Operator::CropJpeg) {
      return wrong_operator("GIF", "decode_gif");
    }
    // The operators of other formats accept a GIF of one frame.
    const bool still = set_.which == Operator::Jpeg || set_.which == Operator::Png;
    const bool frames_first = !still && set_.expand_animations;
    return store(context, 8, frames_first, [&](const images::Allocate& allocate) {
      return images::decode_gif(bytes, set_.expand_animations, [&](const Size& size) {
        if (!still || size.frames == 1) return allocate(size);
        return Result<std::span<uint8_t>>(invalid_argument(
            "Got " + std::to_string(size.frames) + " frames, but animated gifs can only be " +
            "decoded by tf.io.decode_gif or tf.io.decode_image"));
      });
    });
  }

  Status decode_bmp(KernelContext& context, std::string_view bytes) const {
    if (set_.channels == 1) {
      return invalid_argument("`channels` must be 0, 3 or 4 for BMP, but got 1");
    }
    if (set_.which == Operator::CropJpeg) return wrong_operator("BMP", "");
    if (set_.which != Operator::Bmp && set_.which != Operator::Image) {
      return invalid_argument(
          "Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` "
          "instead. Op used: " +
          name_of(set_.which));
    }
    return store(context, 8, false, [&](const images::Allocate& allocate) {
      return images::decode_bmp(bytes, set_.channels, allocate);
    });
  }

  Settings set_;
};

class ExtractJpegShape : public Kernel {
 public:
  explicit ExtractJpegShape(DType dtype) : dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    constexpr DType kAllowed[] = {DType::Int32, DType::Int64};
    const Result<DType> dtype = dtype_attribute(attributes, "output_type", kAllowed);
    if (!dtype.ok()) return dtype.error();
    return std::unique_ptr<Kernel>(std::make_unique<ExtractJpegShape>(dtype.value()));
  }

  Status run(KernelContext& context) const override {
    const Result<TensorView> input = string_input(context, 0);
    if (!input.ok()) return input.error();
    if (!is_scalar(input.value())) {
      return invalid_argument("contents must be scalar, got shape " +
                              input.value().shape.to_string());
    }
    const Result<Size> size = images::jpeg_size(input.value().strings[0]);
    if (!size.ok()) return size.error();
    const int64_t dims[] = {size.value().height, size.value().width, size.value().channels};
    return write_integers(context, 0, dtype_, dims);
  }

 private:
  DType dtype_;
};

}  // namespace

std::vector<OperatorType> image_operators() {
  const Operand string = port(DType::Bytes), bytes = port(DType::Uint8), any = port(DType::Invalid);
  return {
      {"DecodeJpeg", {string}, {bytes}, DecodeImage::make<Operator::Jpeg>},
      {"DecodeAndCropJpeg", {string, any}, {bytes}, DecodeImage::make<Operator::CropJpeg>},
      {"DecodePng", {string}, {any}, DecodeImage::make<Operator::Png>},
      {"DecodeBmp", {string}, {bytes}, DecodeImage::make<Operator::Bmp>},
      {"DecodeGif", {string}, {bytes}, DecodeImage::make<Operator::Gif>},
      {"DecodeImage", {string}, {any}, DecodeImage::make<Operator::Image>},
      {"ExtractJpegShape", {string}, {any}, ExtractJpegShape::make},
  };
}

}  // namespace serval::operators
