// See chunks.h. Hot path, chunked bodies only; the listener's thread.
#include "transport/http1/chunks.h"

#include <llhttp.h>

namespace serval {

struct ChunkReader::Callbacks {
  static ChunkReader& of(llhttp_t* parser) { return *static_cast<ChunkReader*>(parser->data); }

  static int on_body(llhttp_t* parser, const char* at, size_t count) {
    ChunkReader& reader = of(parser);
    if (reader.sink_->chunk_data({reinterpret_cast<const uint8_t*>(at), count})) return 0;
    reader.stopped_ = true;
    return HPE_USER;
  }

  static int on_extension(llhttp_t* parser, const char*, size_t count) {
    ChunkReader& reader = of(parser);
    reader.extension_bytes_ += count;
    return reader.extension_bytes_ > kExtensionBytesMax ? HPE_USER : 0;
  }

  // The last chunk: its trailers are looked at by lines before llhttp reads them.
  static int on_chunk_header(llhttp_t* parser) {
    if (parser->content_length > 0) return 0;
    of(parser).in_trailers_ = true;
    return HPE_PAUSED;
  }

  static int on_message_complete(llhttp_t* parser) {
    of(parser).done_ = true;
    return 0;
  }

  static const llhttp_settings_t& settings() {
    static const llhttp_settings_t made = [] {
      llhttp_settings_t out;
      llhttp_settings_init(&out);
      out.on_body = on_body;
      out.on_chunk_extension_name = on_extension;
      out.on_chunk_extension_value = on_extension;
      out.on_chunk_header = on_chunk_header;
      out.on_message_complete = on_message_complete;
      return out;
    }();
    return made;
  }
};

void ChunkReader::begin(llhttp__internal_s& parser, ChunkSink& sink) {
  *this = ChunkReader();
  parser_ = &parser;
  sink_ = &sink;
  parser.data = this;
  parser.settings = const_cast<llhttp_settings_t*>(&Callbacks::settings());
}

ChunkReader::Outcome ChunkReader::read(std::span<const uint8_t> bytes) {
  if (!in_trailers_) {
    Outcome out = read_chunks(bytes);
    if (!in_trailers_ || out.state != State::More) return out;
    Outcome rest = read_trailers(bytes.subspan(out.used));
    rest.used += out.used;
    return rest;
  }
  return read_trailers(bytes);
}

ChunkReader::Outcome ChunkReader::read_chunks(std::span<const uint8_t> bytes) {
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  const llhttp_errno_t error = llhttp_execute(parser_, begin, bytes.size());
  if (error == HPE_OK) return {State::More, bytes.size(), 0, {}};
  if (error == HPE_PAUSED && in_trailers_) {
    const auto used = static_cast<size_t>(llhttp_get_error_pos(parser_) - begin);
    llhttp_resume(parser_);
    return {State::More, used, 0, {}};
  }
  if (stopped_) return {State::Stopped, bytes.size(), 0, {}};
  if (extension_bytes_ > kExtensionBytesMax) {
    return {State::Bad, bytes.size(), 413, "the extensions of chunks have more than 16384 bytes"};
  }
  return {State::Bad, bytes.size(), 400, "chunked body: " + parser_reason(*parser_)};
}

ChunkReader::Outcome ChunkReader::read_trailers(std::span<const uint8_t> bytes) {
  const LineScanner::Found found = trailers_.scan(bytes, LineScanner::Part::Trailers);
  if (trailers_.bytes() > kTrailerBytesMax) {
    return {State::Bad, bytes.size(), 431, "the trailers have more than 16384 bytes"};
  }
  if (found == LineScanner::Found::More) return {State::More, 0, 0, {}};
  if (found == LineScanner::Found::Bad) {
    return {State::Bad, bytes.size(), 400, "trailers: " + std::string(trailers_.problem())};
  }
  const size_t used = trailers_.bytes();
  const llhttp_errno_t error =
      llhttp_execute(parser_, reinterpret_cast<const char*>(bytes.data()), used);
  if (error == HPE_OK && done_) return {State::Done, used, 0, {}};
  return {State::Bad, bytes.size(), 400, "trailers: " + parser_reason(*parser_)};
}

}  // namespace serval
