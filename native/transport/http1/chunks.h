// Decodes a chunked body: data in chunks, then trailers, which are discarded. Hot path, chunked
// bodies only; the listener's thread. Source: RFC 9112 7.1.
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
  // Delivers a piece of the body. False: stop, no more is needed.
  virtual bool chunk_data(std::span<const uint8_t> bytes) = 0;

 protected:
  ~ChunkSink() = default;
};

// The line before a chunk: its size, then extensions, which are discarded. Strict: refuses white
// space around the parts of an extension, which RFC 9112 7.1.1 calls bad.
class ChunkLine {
 public:
  enum class Found : uint8_t { More, End, Bad };
  // Reads the next byte of the line.
  Found read(uint8_t one);
  // The chunk's bytes; set after End.
  uint64_t size() const { return size_; }
  // Bytes after the size so far, without the line's end.
  size_t extension_bytes() const { return extension_bytes_; }
  // The reason for Bad.
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
  bool has_name_ = false;   // the current extension has a name
  bool has_value_ = false;  // the current extension's value has begun
  std::string_view problem_;
};

class ChunkReader {
 public:
  enum class State : uint8_t { More, Done, Stopped, Bad };
  struct Outcome {
    State state = State::More;
    size_t used = 0;  // bytes consumed
    int status = 0;   // the status to send if Bad
    std::string reason;
  };

  // Begins a body. Borrows the sink until the next begin().
  void begin(ChunkSink& sink);
  // `bytes`: everything received since begin(), less the bytes reported as used.
  Outcome read(std::span<const uint8_t> bytes);

  // Limits of one body, apart from its data.
  static constexpr size_t kExtensionBytesMax = 16 * 1024;
  static constexpr size_t kTrailerBytesMax = 16 * 1024;

 private:
  enum class Part : uint8_t { Line, Data, DataCr, DataLf, Trailers };
  // Reads one byte outside of chunk data. False: the body is malformed, as `out` says.
  bool read_byte(uint8_t one, Outcome& out);
  void line_ended();
  Outcome read_trailers(std::span<const uint8_t> bytes);

  ChunkSink* sink_ = nullptr;
  ChunkLine line_;
  LineScanner trailers_;
  uint64_t left_ = 0;  // bytes of the current chunk's data
  size_t extension_bytes_ = 0;
  Part part_ = Part::Line;
};

}  // namespace serval
