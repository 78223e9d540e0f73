// GIF: all frames, or the first. Our own decoder, bounds-checked. Hot path; pure but for its
// buffers. Frames after a damaged one are dropped, as in TensorFlow; a frame's disposal method is
// ignored: the next one is drawn over it.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "operators/images/image.h"

namespace serval::operators::images {

namespace {

// Reads bytes in order; returns nullopt from then on after reading past the end.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  std::optional<std::string_view> take(size_t count) {
    if (count > rest_.size()) return std::nullopt;
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::optional<uint8_t> byte() {
    const auto taken = take(1);
    if (!taken) return std::nullopt;
    return static_cast<uint8_t>((*taken)[0]);
  }
  // Skips sub-blocks up to the empty one that ends them; false if it is missing.
  bool skip_blocks() {
    for (;;) {
      const auto length = byte();
      if (!length) return false;
      if (*length == 0) return true;
      if (!take(*length)) return false;
    }
  }

 private:
  std::string_view rest_;
};

size_t u16(std::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]) | size_t{static_cast<uint8_t>(bytes[at + 1])} << 8;
}

using Colors = std::string_view;  // three bytes each

constexpr int kOpaque = -1;

struct Frame {
  size_t left = 0, top = 0, width = 0, height = 0;
  Colors colors;
  int transparent = kOpaque;     // pixels with this index leave the image unchanged
  std::vector<uint8_t> indices;  // row by row, without interlacing
};

// Reads the codes of one frame: bits from sub-blocks, the lowest first.
class Codes {
 public:
  explicit Codes(Bytes& bytes) : bytes_(bytes) {}
  // nullopt at the end of the data.
  std::optional<uint32_t> next(uint32_t width) {
    while (bit_count_ < width) {
      if (block_.empty() && !next_block()) return std::nullopt;
      bits_ |= uint32_t{static_cast<uint8_t>(block_[0])} << bit_count_;
      block_.remove_prefix(1);
      bit_count_ += 8;
    }
    const uint32_t code = bits_ & ((1u << width) - 1);
    bits_ >>= width;
    bit_count_ -= width;
    return code;
  }
  // Skips the rest of the data, which must be complete, whatever its content.
  bool finish() { return ended_ || bytes_.skip_blocks(); }

 private:
  bool next_block() {
    const auto length = ended_ ? std::nullopt : bytes_.byte();
    ended_ |= length && *length == 0;
    if (!length || ended_) return false;
    const auto block = bytes_.take(*length);
    if (block) block_ = *block;
    return block.has_value();
  }

  Bytes& bytes_;
  std::string_view block_;
  uint32_t bits_ = 0, bit_count_ = 0;
  bool ended_ = false;
};

constexpr uint32_t kCodesMax = 4096;

// Lempel-Ziv-Welch: every code represents an earlier code's text and one more byte.
class Unpacker {
 public:
  explicit Unpacker(uint32_t literal_bits) : literal_bits_(literal_bits) { clear(); }

  // Decodes exactly `count` pixels; false if there are fewer: ended_early() gives the reason.
  bool unpack(Codes& codes, size_t count, std::vector<uint8_t>& out) {
    const uint32_t clear_code = 1u << literal_bits_;
    while (out.size() < count) {
      const auto code = codes.next(width_);
      ended_early_ = code == clear_code + 1;
      if (!code || ended_early_) return false;
      if (*code == clear_code) {
        clear();
      } else if (!append(*code, count, out)) {
        return false;
      }
    }
    return codes.finish();
  }
  bool ended_early() const { return ended_early_; }

 private:
  void clear() {
    next_ = (1u << literal_bits_) + 2;
    width_ = literal_bits_ + 1;
    last_ = kCodesMax;
  }

  uint32_t length_of(uint32_t code) const { return code < first_own() ? 1 : length_[code]; }
  uint32_t first_own() const { return (1u << literal_bits_) + 2; }

  // Writes a code's text backwards so that it ends before `end`.
  uint8_t write(uint32_t code, uint8_t* end, size_t skip_last) const {
    while (code >= first_own()) {
      if (skip_last != 0) --skip_last;
      else *--end = suffix_[code];
      code = prefix_[code];
    }
    if (skip_last == 0) *--end = static_cast<uint8_t>(code);
    return static_cast<uint8_t>(code);
  }

  bool append(uint32_t code, size_t count, std::vector<uint8_t>& out) {
    const bool is_new = code == next_ && last_ != kCodesMax && next_ < kCodesMax;
    if (code >= next_ && !is_new) return false;
    // The new code's text is the last one's plus its own first byte.
    const uint32_t known = is_new ? last_ : code;
    const size_t begin = out.size();
    const size_t length = std::min<size_t>(length_of(known), count - begin);
    out.resize(begin + length);
    const uint8_t first = write(known, out.data() + out.size(), length_of(known) - length);
    if (is_new && out.size() < count) out.push_back(first);
    if (last_ != kCodesMax && next_ < kCodesMax) {
      prefix_[next_] = static_cast<uint16_t>(last_);
      suffix_[next_] = first;
      length_[next_] = static_cast<uint16_t>(length_of(last_) + 1);
      ++next_;
    }
    last_ = code;
    // The encoder is one code ahead: the width grows once its table needs it.
    if (next_ == (1u << width_) && width_ < 12) ++width_;
    return true;
  }

  uint32_t literal_bits_;
  bool ended_early_ = false;
  uint32_t next_ = 0, width_ = 0, last_ = kCodesMax;
  std::array<uint16_t, kCodesMax> prefix_{}, length_{};
  std::array<uint8_t, kCodesMax> suffix_{};
};

// Rows are stored as every eighth from 0, every eighth from 4, every fourth from 2, every second
// from 1.
void undo_interlacing(Frame& frame) {
  constexpr size_t kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
  std::vector<uint8_t> rows(frame.indices.size());
  const uint8_t* from = frame.indices.data();
  for (size_t pass = 0; pass < 4; ++pass) {
    for (size_t y = kFirst[pass]; y < frame.height; y += kStep[pass]) {
      std::memcpy(rows.data() + y * frame.width, from, frame.width);
      from += frame.width;
    }
  }
  frame.indices = std::move(rows);
}

// The number of colours is in the low three bits.
std::optional<Colors> read_colors(Bytes& bytes, uint8_t flags) {
  if ((flags & 0x80) == 0) return Colors();
  return bytes.take(size_t{3} << ((flags & 7) + 1));
}

// Reads an extension, after its introducer; one that describes the next frame may set a transparent
// colour. False: truncated.
bool read_extension(Bytes& bytes, int& transparent) {
  const auto label = bytes.byte();
  if (!label) return false;
  if (*label != 0xF9) return bytes.skip_blocks();
  const auto length = bytes.byte();
  if (!length) return false;
  if (*length == 0) return true;
  const auto block = bytes.take(*length);
  if (!block) return false;
  if (*length == 4) {
    transparent = ((*block)[0] & 1) != 0 ? static_cast<uint8_t>((*block)[3]) : kOpaque;
  }
  return bytes.skip_blocks();
}

// Reads one frame, after an image separator. Empty text: success.
std::string read_frame(Bytes& bytes, Colors global, size_t pixels_left, Frame& frame) {
  const auto head = bytes.take(9);
  if (!head) return "Failed to read from given file";
  frame.left = u16(*head, 0);
  frame.top = u16(*head, 2);
  frame.width = u16(*head, 4);
  frame.height = u16(*head, 6);
  const auto flags = static_cast<uint8_t>((*head)[8]);
  const auto colors = read_colors(bytes, flags);
  const auto literal_bits = bytes.byte();
  if (!colors || !literal_bits) return "Failed to read from given file";
  frame.colors = colors->empty() ? global : *colors;
  const size_t pixels = frame.width * frame.height;
  if (pixels == 0 || *literal_bits > 8 || *literal_bits == 0) {
    return "Image is defective, decoding aborted";
  }
  if (pixels > pixels_left) return "Image is too large";
  Codes codes(bytes);
  Unpacker unpacker(*literal_bits);
  if (!unpacker.unpack(codes, pixels, frame.indices)) {
    return unpacker.ended_early() ? "Image EOF detected before image complete"
                                  : "Image is defective, decoding aborted";
  }
  if ((flags & 0x40) != 0) undo_interlacing(frame);
  return {};
}

// Reads all frames up to the first damaged one. Empty text: there is at least one.
std::string read_frames(Bytes& bytes, std::vector<Frame>& frames) {
  const auto head = bytes.take(6) ? bytes.take(7) : std::nullopt;
  if (!head) return "failed to open gif file: No screen descriptor detected";
  const auto global = read_colors(bytes, static_cast<uint8_t>((*head)[4]));
  if (!global) return "failed to open gif file: Failed to read from given file";
  std::string problem;
  int transparent = kOpaque;
  size_t pixels_left = kSamplesMax / 3;
  while (problem.empty()) {
    const auto kind = bytes.byte();
    if (kind == uint8_t{0x3B}) break;
    if (kind == uint8_t{0x21}) {
      if (!read_extension(bytes, transparent)) problem = "Failed to read from given file";
    } else if (kind == uint8_t{0x2C}) {
      Frame frame;
      problem = read_frame(bytes, *global, pixels_left, frame);
      if (!problem.empty()) break;
      pixels_left -= frame.indices.size();
      frame.transparent = std::exchange(transparent, kOpaque);
      frames.push_back(std::move(frame));
    } else {
      problem = kind ? "Wrong record type detected" : "Failed to read from given file";
    }
  }
  if (!frames.empty()) return {};
  if (problem.empty()) problem = "No Image Descriptor detected";
  return "failed to slurp gif file: " + problem;
}

// Draws a frame over the image. Empty text: success.
std::string draw(const Frame& frame, size_t index, size_t width, size_t height, uint8_t* picture) {
  if (frame.colors.empty()) return "missing color map for frame " + std::to_string(index);
  const size_t right = std::min(frame.left + frame.width, width);
  const size_t bottom = std::min(frame.top + frame.height, height);
  for (size_t y = frame.top; y < bottom; ++y) {
    for (size_t x = frame.left; x < right; ++x) {
      const uint8_t color = frame.indices[(y - frame.top) * frame.width + x - frame.left];
      if (frame.transparent == color) continue;
      if (size_t{color} * 3 >= frame.colors.size()) {
        return "found color index " + std::to_string(color) + " outside of color map range " +
               std::to_string(frame.colors.size() / 3);
      }
      std::memcpy(picture + (y * width + x) * 3, frame.colors.data() + color * 3, 3);
    }
  }
  return {};
}

}  // namespace

Status decode_gif(std::string_view bytes, bool all_frames, const Allocate& allocate) {
  const auto invalid = [&](const std::string& problem) {
    return invalid_argument("Invalid GIF data (size " + std::to_string(bytes.size()) + "), " +
                            problem);
  };
  Bytes reader(bytes);
  std::vector<Frame> frames;
  std::string problem = read_frames(reader, frames);
  if (!problem.empty()) return invalid(problem);
  // Uses the size of the largest frame; ignores the screen size in the header.
  size_t width = 0, height = 0;
  for (const Frame& frame : frames) {
    width = std::max(width, frame.width);
    height = std::max(height, frame.height);
  }
  if (!all_frames) frames.resize(1);
  const size_t picture_bytes = width * height * 3;
  if (picture_bytes > static_cast<size_t>(kSamplesMax) / frames.size()) {
    return invalid(std::to_string(frames.size()) + " frames of " + std::to_string(width) + " by " +
                   std::to_string(height) + " are too large");
  }
  const Result<std::span<uint8_t>> memory =
      allocate({static_cast<int64_t>(frames.size()), static_cast<int64_t>(height),
                static_cast<int64_t>(width), 3});
  if (!memory.ok()) return memory.error();
  uint8_t* picture = memory.value().data();
  for (size_t i = 0; i < frames.size(); ++i, picture += picture_bytes) {
    if (i == 0) std::memset(picture, 0, picture_bytes);
    else std::memcpy(picture, picture - picture_bytes, picture_bytes);
    problem = draw(frames[i], i, width, height, picture);
    if (!problem.empty()) return invalid(problem);
  }
  return ok_status();
}

}  // namespace serval::operators::images
