// DecodeWav and EncodeWav, as TensorFlow's operators of these names: 16-bit PCM. Hot path, any
// thread. Input may be arbitrary bytes: every length is checked. Attributes: `desired_channels`,
// `desired_samples` (-1: those of the file).
// Source: tensorflow/core/lib/wav/wav_io.cc, tensorflow/core/kernels/{decode,encode}_wav_op.cc.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

constexpr float kScale = 32768.0f;
constexpr size_t kSampleBytes = 2;
constexpr uint64_t kChunkMax = std::numeric_limits<int32_t>::max();

struct Sound {
  uint64_t frames = 0;
  uint32_t channels = 0;
  uint32_t rate = 0;
  std::string_view samples;  // frames * channels samples of 16 bits
};

// Reads a file from its start; the first fault is kept.
class WavReader {
 public:
  WavReader(std::string_view bytes, KernelIo& io) : rest_(bytes), io_(io) {}

  Sound read() {
    Sound sound;
    expect("RIFF");
    (void)number(4);
    expect("WAVE");
    format(sound);
    data(sound);
    return sound;
  }

 private:
  std::string_view take(uint64_t count) {
    if (!io_.require(count <= rest_.size(), "Data too short when trying to read string")) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  uint32_t number(size_t bytes) {
    const std::string_view taken = take(bytes);
    uint32_t value = 0;
    for (size_t i = 0; i < taken.size(); ++i) {
      value |= static_cast<uint32_t>(static_cast<uint8_t>(taken[i])) << (8 * i);
    }
    return value;
  }
  void expect(std::string_view wanted) {
    const std::string_view found = take(wanted.size());
    io_.require(found == wanted, "Header mismatch: Expected " + std::string(wanted) +
                                     " but found " + std::string(found));
  }
  // Whether the chunk may precede the format.
  static bool is_known(std::string_view chunk) {
    constexpr std::string_view kKnown[] = {"JUNK", "bext", "iXML", "qlty",
                                           "mext", "levl", "link", "axml"};
    return std::find(std::begin(kKnown), std::end(kKnown), chunk) != std::end(kKnown);
  }

  void format(Sound& sound) {
    std::string_view chunk = take(4);
    while (!io_.failed() && chunk != "fmt ") {
      io_.require(is_known(chunk), "Unexpected field " + std::string(chunk));
      (void)take(number(4));
      chunk = take(4);
    }
    const uint32_t size = number(4);
    io_.require(size == 16 || size == 18,
                "Bad format chunk size for WAV: Expected 16 or 18, but got" + std::to_string(size));
    const uint32_t code = number(2);
    io_.require(code == 1,
                "Bad audio format for WAV: Expected 1 (PCM), but got" + std::to_string(code));
    sound.channels = number(2);
    io_.require(sound.channels >= 1,
                "Bad number of channels for WAV: Expected at least 1, but got 0");
    sound.rate = number(4);
    const uint32_t by_second = number(4), by_frame = number(2), bits = number(2);
    io_.require(bits == 16, "Can only read 16-bit WAV files, but received " + std::to_string(bits));
    const uint32_t frame = sound.channels * kSampleBytes;
    io_.require(by_frame == frame, "Bad bytes per sample in WAV header: Expected " +
                                       std::to_string(frame) + " but got " +
                                       std::to_string(by_frame));
    const uint32_t second = frame * sound.rate;  // wraps around, as in TensorFlow
    io_.require(by_second == second, "Bad bytes per second in WAV header: Expected " +
                                         std::to_string(second) + " but got " +
                                         std::to_string(by_second));
    if (size == 18) (void)take(2);
  }

  void data(Sound& sound) {
    bool found = false;
    while (!io_.failed() && !rest_.empty()) {
      const std::string_view chunk = take(4);
      const uint64_t size = number(4);
      io_.require(size <= kChunkMax, "WAV data chunk '" + std::string(chunk) +
                                         "' is too large: " + std::to_string(size) +
                                         " bytes, but the limit is " + std::to_string(kChunkMax));
      if (chunk != "data") {
        // A chunk that extends beyond the end is the last one.
        rest_.remove_prefix(std::min<uint64_t>(size, rest_.size()));
        continue;
      }
      io_.require(!found, "More than one data chunk found in WAV");
      if (io_.failed()) return;
      found = true;
      sound.frames = size / (sound.channels * kSampleBytes);
      sound.samples = take(sound.frames * sound.channels * kSampleBytes);
    }
    io_.require(found, "No data chunk found in WAV");
  }

  std::string_view rest_;
  KernelIo& io_;
};

class DecodeWav final : public Kernel {
 public:
  DecodeWav(int64_t channels, int64_t samples) : channels_(channels), samples_(samples) {}
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView view = io.view(0);
    const auto contents = io.elements<std::string_view>(view);
    if (!io.require(view.shape.rank() == 0 && contents.size() == 1,
                    "contents must be scalar, got shape " + view.shape.to_string())) {
      return io.take();
    }
    const Sound sound = WavReader(contents[0], io).read();
    if (io.failed()) return io.take();
    const int64_t frames = samples_ < 0 ? static_cast<int64_t>(sound.frames) : samples_;
    const int64_t channels = channels_ < 0 ? sound.channels : channels_;
    const std::span<float> out = io.output<float>(0, shape_of({frames, channels}));
    const std::span<int32_t> rate = io.output<int32_t>(1, Shape());
    if (io.failed()) return io.take();
    rate[0] = static_cast<int32_t>(sound.rate);
    size_t at = 0;
    for (int64_t frame = 0; frame < frames; ++frame) {
      for (int64_t channel = 0; channel < channels; ++channel) {
        out[at++] = sample(sound, static_cast<uint64_t>(frame), static_cast<uint64_t>(channel));
      }
    }
    return io.take();
  }

 private:
  // Frames after the end are silent; missing channels repeat the last one.
  static float sample(const Sound& sound, uint64_t frame, uint64_t channel) {
    if (frame >= sound.frames) return 0.0f;
    const uint64_t from = std::min<uint64_t>(channel, sound.channels - 1);
    int16_t value = 0;
    std::memcpy(&value, sound.samples.data() + (frame * sound.channels + from) * kSampleBytes,
                sizeof(value));
    return static_cast<float>(value) / kScale;
  }

  const int64_t channels_, samples_;
};

class EncodeWav final : public Kernel {
 public:
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView audio = io.view(0), rate_view = io.view(1);
    const std::span<const float> samples = io.elements<float>(audio);
    const std::span<const int32_t> rates = io.elements<int32_t>(rate_view);
    io.require(audio.shape.rank() == 2,
               "audio must be 2-dimensional, got shape " + audio.shape.to_string());
    io.require(rate_view.shape.rank() == 0,
               "sample_rate should be a scalar, got shape " + rate_view.shape.to_string());
    if (io.failed()) return io.take();
    io.require(rates[0] > 0, "sample_rate must be in (0, 2^32), got: " + std::to_string(rates[0]));
    const int64_t channels = audio.shape[1];
    io.require(channels > 0 && channels <= std::numeric_limits<uint16_t>::max(),
               "num_channels must be in (0, 2^16), got: " + std::to_string(channels));
    const uint64_t bytes = samples.size() * kSampleBytes;
    io.require(bytes <= std::numeric_limits<uint32_t>::max() - 64,
               "Provided channels and frames cannot be encoded as a WAV.");
    if (io.failed()) return io.take();
    const std::string file = header(static_cast<uint32_t>(bytes), static_cast<uint32_t>(channels),
                                    static_cast<uint32_t>(rates[0])) +
                             body(samples);
    const std::string_view text = file;
    io.strings(0, Shape(), {&text, 1});
    return io.take();
  }

 private:
  static void put(std::string& to, uint32_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
  }
  static std::string header(uint32_t bytes, uint32_t channels, uint32_t rate) {
    std::string to = "RIFF";
    const uint32_t frame = channels * kSampleBytes;
    put(to, bytes + 36, 4);
    to += "WAVEfmt ";
    put(to, 16, 4);
    put(to, 1, 2);
    put(to, channels, 2);
    put(to, rate, 4);
    put(to, rate * frame, 4);
    put(to, frame, 2);
    put(to, 16, 2);
    to += "data";
    put(to, bytes, 4);
    return to;
  }
  // Rounds halves away from 0; clamps to 16 bits.
  static std::string body(std::span<const float> samples) {
    std::string to;
    to.reserve(samples.size() * kSampleBytes);
    for (const float sample : samples) {
      const float scaled = std::round(sample * kScale);
      const float kept = std::min(std::max(scaled, -kScale), kScale - 1);
      const auto value = static_cast<int16_t>(std::isnan(kept) ? 0 : kept);
      put(to, static_cast<uint16_t>(value), kSampleBytes);
    }
    return to;
  }
};

}  // namespace

std::vector<OperatorType> wav_operators() {
  using Made = Result<std::unique_ptr<Kernel>>;
  const Operand text{DType::Bytes}, floats{DType::Fp32}, rate{DType::Int32};
  return {
      {"DecodeWav",
       {text},
       {floats, rate},
       [](const KernelAttributes& a) -> Made {
         return std::unique_ptr<Kernel>(std::make_unique<DecodeWav>(
             a.integer("desired_channels", -1), a.integer("desired_samples", -1)));
       }},
      {"EncodeWav",
       {floats, rate},
       {text},
       [](const KernelAttributes&) -> Made {
         return std::unique_ptr<Kernel>(std::make_unique<EncodeWav>());
       }},
  };
}

}  // namespace serval::operators
