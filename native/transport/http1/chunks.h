// A chunked body: data in chunks, then trailers, which are dropped. Hot path, such bodies only; the
// listener's thread. Source: RFC 9112 7.1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "transport/http1/head.h"

namespace serval {

// The receiver of the data.
class ChunkSink {
 public:
  // A piece of the body. False: no more is wanted.
  virtual bool chunk_data(std::span<const uint8_t> bytes) = 0;

 protected:
  ~ChunkSink() = default;
};

// The line before a chunk: its size, then extensions, which are dropped. Strict: no white space
// around the parts of an extension, which RFC 9112 7.1.1 calls bad.
class ChunkLine {
 public:
  enum class Found : uint8_t { More, End, Bad };
  // The next byte of the line.
  Found read(uint8_t one);
  // End: the chunk's bytes.
  uint64_t size() const { return size_; }
  // Bytes after the size so far, without the line's end.
  size_t extension_bytes() const { return extension_bytes_; }
  // Bad: why.
  std::string_view problem() const { return problem_; }

 private:
  enum class Part : uint8_t { Size, Name, Value, Quoted, Escape, Quote, Lf };
  Found bad(std::string_view why);
  Found read_size(uint8_t one);
  Found read_extension(uint8_t one);
  Found next_part(uint8_t one);

  uint64_t size_ = 0;
  size_t extension_bytes_ = 0;
  Part part_ = Part::Size;
  bool has_digits_ = false;
  bool has_name_ = false;   // of the extension that is read
  bool has_value_ = false;  // its value began
  std::string_view problem_;
};

class ChunkReader {
 public:
  enum class State : uint8_t { More, Done, Stopped, Bad };
  struct Outcome {
    State state = State::More;
    size_t used = 0;  // bytes that are not needed any more
    int status = 0;   // Bad: the answer's
    std::string reason;
  };

  // A body begins. Borrows the sink until the next begin().
  void begin(ChunkSink& sink);
  // `bytes`: what came since, less what was used.
  Outcome read(std::span<const uint8_t> bytes);

  // Limits of one body, beside its data.
  static constexpr size_t kExtensionBytesMax = 16 * 1024;
  static constexpr size_t kTrailerBytesMax = 16 * 1024;

 private:
  enum class Part : uint8_t { Line, Data, DataCr, DataLf, Trailers };
  // Reads one byte that is no data. False: the body is broken, as `out` says.
  bool read_byte(uint8_t one, Outcome& out);
  void line_ended();
  Outcome read_trailers(std::span<const uint8_t> bytes);

  ChunkSink* sink_ = nullptr;
  ChunkLine line_;
  LineScanner trailers_;
  uint64_t left_ = 0;  // of the chunk's data
  size_t extension_bytes_ = 0;
  Part part_ = Part::Line;
};

}  // namespace serval
