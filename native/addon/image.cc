// Decodes an image file into an ArrayBuffer of JavaScript.
#include "addon/image.h"

#include "operators/images/image_file.h"

namespace serval {

namespace {

using operators::images::ImageForm;

// Allocates the samples as a typed array; `view` is set to it.
Result<std::span<uint8_t>> allocate_samples(napi_env env, const ImageForm& form, napi_value& view) {
  const auto samples = static_cast<size_t>(form.width * form.height * form.channels);
  const size_t bytes = samples * static_cast<size_t>(form.sample_bytes);
  void* data = nullptr;
  napi_value memory = nullptr;
  const napi_typedarray_type type = form.sample_bytes == 2 ? napi_uint16_array : napi_uint8_array;
  if (napi_create_arraybuffer(env, bytes, &data, &memory) != napi_ok ||
      napi_create_typedarray(env, type, samples, memory, 0, &view) != napi_ok) {
    napi_value thrown = nullptr;
    (void)napi_get_and_clear_last_exception(env, &thrown);
    return make_error(ErrorCode::MemoryFull,
                      "cannot allocate " + std::to_string(bytes) + " bytes for its pixels");
  }
  return std::span<uint8_t>(static_cast<uint8_t*>(data), bytes);
}

}  // namespace

napi_value DecodeImage(Arguments<2>& arguments) {
  const std::span<const uint8_t> file = arguments.buffer(0, "file");
  const uint32_t pixels_max = arguments.u32(1, "pixelsMax");
  if (!arguments.ok()) return nullptr;
  const napi_env env = arguments.env();
  ImageForm form;
  napi_value data = nullptr;
  const Status decoded = operators::images::decode_image_file(
      {reinterpret_cast<const char*>(file.data()), file.size()}, pixels_max,
      [&](const ImageForm& found) {
        form = found;
        return allocate_samples(env, found, data);
      });
  if (!decoded.ok()) return Napi::String::New(env, decoded.error().message);
  const Napi::Object image = Napi::Object::New(env);
  image.Set("width", static_cast<double>(form.width));
  image.Set("height", static_cast<double>(form.height));
  image.Set("channels", static_cast<double>(form.channels));
  image.Set("data", data);
  return image;
}

}  // namespace serval
