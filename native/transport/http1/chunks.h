// A chunked body: data in chunks, then trailers, which are dropped. Hot path, such bodies only; the
// listener's thread. Source: RFC 9112 7.1.
#pragma once

#include <cstdint>
#include <span>
#include <string>

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

class ChunkReader {
 public:
  enum class State : uint8_t { More, Done, Stopped, Bad };
  struct Outcome {
    State state = State::More;
    size_t used = 0;  // bytes that are not needed any more
    int status = 0;   // Bad: the answer's
    std::string reason;
  };

  // Goes on where read_head() left the parser. Borrows both until the next begin().
  void begin(llhttp__internal_s& parser, ChunkSink& sink);
  // `bytes`: what came since, less what was used.
  Outcome read(std::span<const uint8_t> bytes);

  // Limits of one body, beside its data.
  static constexpr size_t kExtensionBytesMax = 16 * 1024;
  static constexpr size_t kTrailerBytesMax = 16 * 1024;

 private:
  struct Callbacks;
  Outcome read_chunks(std::span<const uint8_t> bytes);
  Outcome read_trailers(std::span<const uint8_t> bytes);

  llhttp__internal_s* parser_ = nullptr;
  ChunkSink* sink_ = nullptr;
  LineScanner trailers_;
  size_t extension_bytes_ = 0;
  bool in_trailers_ = false;
  bool done_ = false;
  bool stopped_ = false;
};

}  // namespace serval
