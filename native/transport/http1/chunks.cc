// Reads chunked bodies. Hot path, chunked bodies only; the listener's thread.
#include "transport/http1/chunks.h"

#include <algorithm>

#include "base/bytes/views.h"

namespace serval {

namespace {

// nginx refuses larger sizes; no body could be that large.
constexpr uint64_t kSizeMax = INT64_MAX;

// -1: not a hexadecimal digit.
int hex_value(uint8_t one) {
  if (one >= '0' && one <= '9') return one - '0';
  const uint8_t lower = one | 0x20;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_control(uint8_t one) { return (one < 0x20 && one != '\t') || one == 0x7f; }

// The reason to refuse trailers, "" = accepted. `text`: whole lines, then the empty one.
std::string trailers_problem(std::string_view text) {
  for (size_t end; (end = text.find("\r\n")) > 0; text.remove_prefix(end + 2)) {
    const size_t colon = text.substr(0, end).find(':');
    if (colon == std::string_view::npos) return "expected a name and a colon";
    const std::string_view name = text.substr(0, colon);
    if (!is_token(name)) return "expected a name before the colon";
    // A reader that honours these in trailers sees another body, or another next request (RFC 9110
    // 6.5.1).
    if (is_header(name, "content-length")) return "Content-Length is not allowed";
    if (is_header(name, "transfer-encoding")) return "Transfer-Encoding is not allowed";
  }
  return "";
}

}  // namespace

ChunkLine::Found ChunkLine::bad(std::string_view why) {
  problem_ = why;
  return Found::Bad;
}

ChunkLine::Found ChunkLine::read(uint8_t one) {
  if (part_ == Part::Lf) {
    return one == '\n' ? Found::End : bad("the line of a chunk's size has a CR without LF");
  }
  if (part_ == Part::Size) return read_size(one);
  if (one != '\r') extension_bytes_ += 1;
  return read_extension(one);
}

ChunkLine::Found ChunkLine::read_size(uint8_t one) {
  if (const int digit = hex_value(one); digit >= 0) {
    if (size_ > kSizeMax >> 4) return bad("the size of a chunk is too large");
    size_ = size_ << 4 | static_cast<uint64_t>(digit);
    has_digits_ = true;
    return Found::More;
  }
  if (!has_digits_ || (one != '\r' && one != ';')) {
    return bad("the size of a chunk is not a hexadecimal number");
  }
  if (one == ';') extension_bytes_ += 1;
  return next_part(one);
}

// Expects another extension or the end of the line, after a size or an extension.
ChunkLine::Found ChunkLine::next_part(uint8_t one) {
  part_ = one == '\r' ? Part::Lf : Part::Name;
  has_name_ = false;
  has_value_ = false;
  return Found::More;
}

ChunkLine::Found ChunkLine::read_extension(uint8_t one) {
  constexpr std::string_view kBad = "the extension of a chunk is malformed";
  const bool ends = one == ';' || one == '\r';
  switch (part_) {
    case Part::Name:
      if (one == '=') {
        part_ = Part::Value;
      } else if (ends) {
        return has_name_ ? next_part(one) : bad(kBad);
      } else if (!is_token_letter(one)) {
        return bad(kBad);
      }
      has_name_ = true;
      return Found::More;
    case Part::Value:
      if (one == '"' && !has_value_) {
        part_ = Part::Quoted;
      } else if (ends) {
        return next_part(one);
      } else if (!is_token_letter(one)) {
        return bad(kBad);
      }
      has_value_ = true;
      return Found::More;
    case Part::Quoted:
      if (is_control(one)) return bad(kBad);
      if (one == '\\') part_ = Part::Escape;
      else if (one == '"') part_ = Part::Quote;
      return Found::More;
    case Part::Escape: part_ = Part::Quoted; return is_control(one) ? bad(kBad) : Found::More;
    default: return ends ? next_part(one) : bad(kBad);
  }
}

void ChunkReader::begin(ChunkSink& sink) {
  *this = ChunkReader();
  sink_ = &sink;
}

ChunkReader::Outcome ChunkReader::read(std::span<const uint8_t> bytes) {
  size_t at = 0;
  while (at < bytes.size() && part_ != Part::Trailers) {
    if (part_ == Part::Data) {
      const auto count = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size() - at));
      left_ -= count;
      if (left_ == 0) part_ = Part::DataCr;
      if (!sink_->chunk_data(bytes.subspan(at, count))) {
        return {State::Stopped, bytes.size(), 0, {}};
      }
      at += count;
      continue;
    }
    Outcome out{State::Bad, bytes.size(), 400, {}};
    if (!read_byte(bytes[at], out)) return out;
    at += 1;
  }
  if (part_ != Part::Trailers) return {State::More, at, 0, {}};
  Outcome out = read_trailers(bytes.subspan(at));
  out.used += at;
  return out;
}

bool ChunkReader::read_byte(uint8_t one, Outcome& out) {
  if (part_ != Part::Line) {
    const bool is_cr = part_ == Part::DataCr;
    part_ = is_cr ? Part::DataLf : Part::Line;
    if (one == (is_cr ? '\r' : '\n')) return true;
    out.reason = "chunked body: expected CRLF after the data of a chunk";
    return false;
  }
  const ChunkLine::Found found = line_.read(one);
  if (found == ChunkLine::Found::Bad) {
    out.reason = "chunked body: " + std::string(line_.problem());
    return false;
  }
  if (extension_bytes_ + line_.extension_bytes() > kExtensionBytesMax) {
    out.status = 413;
    out.reason = "the extensions of chunks have more than 16384 bytes";
    return false;
  }
  if (found == ChunkLine::Found::End) line_ended();
  return true;
}

void ChunkReader::line_ended() {
  extension_bytes_ += line_.extension_bytes();
  left_ = line_.size();
  part_ = left_ > 0 ? Part::Data : Part::Trailers;
  line_ = ChunkLine();
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
  std::string problem = trailers_problem(text_of(bytes.first(used)));
  if (!problem.empty()) return {State::Bad, bytes.size(), 400, "trailers: " + problem};
  return {State::Done, used, 0, {}};
}

}  // namespace serval
