// EncodePng, EncodeJpeg and EncodeJpegVariableQuality, as TensorFlow's operators of these names.
// Hot path. Source: tensorflow/core/kernels/image/encode_{png,jpeg}_op.cc.
#include "operators/groups.h"
#include "operators/images/encode.h"
#include "operators/images/image.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

using images::JpegOptions;
using images::Pixels;

// The elements of an image in the encoders' form; refuses images that are too large or empty.
Pixels pixels_of(KernelIo& io, const TensorView& view) {
  Pixels pixels;
  const size_t rank = view.shape.rank();
  if (io.failed()) return pixels;
  pixels.height = view.shape[rank - 3];
  pixels.width = view.shape[rank - 2];
  pixels.channels = view.shape[rank - 1];
  io.require(pixels.height > 0 && pixels.width > 0,
             "image cannot be empty, got shape " + view.shape.to_string());
  io.require(view.shape.elements().value_or(images::kSamplesMax) < images::kSamplesMax,
             "image is too large, got shape " + view.shape.to_string());
  return pixels;
}

class EncodePng final : public Kernel {
 public:
  explicit EncodePng(int compression) : compression_(compression) {}
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView view = io.view(0);
    io.require(view.shape.rank() >= 3,
               "images must be at least rank 3, got shape " + view.shape.to_string());
    Pixels pixels = pixels_of(io, view);
    io.require(pixels.channels >= 1 && pixels.channels <= 4,
               "image must have 1, 2, 3, or 4 channels, got " + std::to_string(pixels.channels));
    if (io.failed()) return io.take();
    const bool wide = view.dtype == DType::Uint16;
    Shape batch;
    for (size_t i = 0; i + 3 < view.shape.rank(); ++i) (void)batch.push_back(view.shape[i]);
    const size_t count = batch.elements().value_or(0);
    const std::span<const uint8_t> all(reinterpret_cast<const uint8_t*>(view.data), view.bytes);
    std::vector<std::string> files;
    for (size_t i = 0; i < count; ++i) {
      pixels.bytes = all.subspan(i * (view.bytes / count), view.bytes / count);
      Result<std::string> file = images::encode_png(pixels, wide, compression_);
      if (!file.ok()) return std::move(file.error());
      files.push_back(std::move(file.value()));
    }
    const std::vector<std::string_view> texts(files.begin(), files.end());
    io.strings(0, batch, texts);
    return io.take();
  }

 private:
  const int compression_;
};

class EncodeJpeg final : public Kernel {
 public:
  EncodeJpeg(JpegOptions options, std::string format)
      : options_(std::move(options)), format_(std::move(format)) {}
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView view = io.view(0);
    io.require(view.shape.rank() == 3, "image must be 3-dimensional" + view.shape.to_string());
    Pixels pixels = pixels_of(io, view);
    check_channels(io, pixels.channels);
    pixels.bytes = io.elements<uint8_t>(view);
    JpegOptions options = options_;
    if (io.input_count() > 1) {
      options.quality = static_cast<int>(io.integer(1, "quality"));
      io.require(options.quality >= 0 && options.quality <= 100,
                 "quality must be in [0,100], got " + std::to_string(options.quality));
    }
    if (io.failed()) return io.take();
    const Result<std::string> file = images::encode_jpeg(pixels, options);
    if (!file.ok()) return file.error();
    const std::string_view text = file.value();
    io.strings(0, Shape(), {&text, 1});
    return io.take();
  }

 private:
  void check_channels(KernelIo& io, int64_t channels) const {
    const std::string got = ", got " + std::to_string(channels);
    if (format_.empty()) {
      io.require(channels == 1 || channels == 3, "image must have 1 or 3 channels" + got);
    } else if (format_ == "grayscale") {
      io.require(channels == 1, "format 'grayscale' expects 1 channel" + got);
    } else {
      io.require(channels == 3, "format 'rgb' expects 3 channels" + got);
    }
  }

  const JpegOptions options_;
  const std::string format_;
};

Result<std::unique_ptr<Kernel>> make_png(const KernelAttributes& attributes) {
  const int64_t compression = attributes.integer("compression", -1);
  if (compression < -1 || compression > 9) {
    return model_invalid("compression should be in [-1,9], got " + std::to_string(compression));
  }
  return std::unique_ptr<Kernel>(std::make_unique<EncodePng>(static_cast<int>(compression)));
}

Result<std::unique_ptr<Kernel>> make_jpeg(const KernelAttributes& attributes) {
  JpegOptions options;
  options.quality = static_cast<int>(attributes.integer("quality", 95));
  options.progressive = attributes.integer("progressive", 0) != 0;
  options.optimize_size = attributes.integer("optimize_size", 0) != 0;
  options.chroma_downsampling = attributes.integer("chroma_downsampling", 1) != 0;
  options.density_unit = attributes.text("density_unit", "in") == "cm" ? 2 : 1;
  options.x_density = static_cast<int>(attributes.integer("x_density", 300));
  options.y_density = static_cast<int>(attributes.integer("y_density", 300));
  options.xmp_metadata = attributes.text("xmp_metadata", "");
  const std::string format = attributes.text("format", "");
  if (!format.empty() && format != "grayscale" && format != "rgb") {
    return model_invalid("format must be '', grayscale or rgb, got " + format);
  }
  if (options.quality < 0 || options.quality > 100) {
    return model_invalid("quality must be in [0,100], got " + std::to_string(options.quality));
  }
  return std::unique_ptr<Kernel>(std::make_unique<EncodeJpeg>(std::move(options), format));
}

}  // namespace

std::vector<OperatorType> encode_image_operators() {
  const Operand any{}, text{DType::Bytes}, bytes{DType::Uint8};
  return {
      {"EncodePng", {any}, {text}, make_png},
      {"EncodeJpeg", {bytes}, {text}, make_jpeg},
      {"EncodeJpegVariableQuality", {bytes, {DType::Int32}}, {text}, make_jpeg},
  };
}

}  // namespace serval::operators
