// The head of an HTTP/1 request: where it ends, and what it contains. Two readers have to agree: a
// scanner that only knows lines, and llhttp. Hot path; the listener's thread.
// Source: RFC 9112 2 to 6.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/http.h"
#include "transport/target.h"

namespace serval {

// Finds the empty line that ends a head, or the trailers of a chunked body. Requires that every
// line ends with CRLF, that no line is folded and that tabs are the only control characters.
class LineScanner {
 public:
  enum class Found : uint8_t { More, End, Bad };
  enum class Part : uint8_t { Head, Trailers };

  // `bytes`: everything received of this part, from its first byte; the scan resumes where it
  // stopped.
  Found scan(std::span<const uint8_t> bytes, Part part);
  // After End: the length with the empty line. After More: the bytes scanned so far.
  size_t bytes() const { return at_; }
  // Bytes of the first line so far, without its end.
  size_t first_line_bytes() const { return first_line_bytes_; }
  // Bytes before the first line: empty lines that a client sent after its last request.
  size_t skipped() const { return skipped_; }
  // The reason for Bad.
  std::string_view problem() const { return problem_; }
  void reset() { *this = LineScanner(); }

 private:
  Found bad(std::string_view why);

  size_t at_ = 0;
  size_t line_bytes_ = 0;
  size_t first_line_bytes_ = 0;
  size_t skipped_ = 0;
  size_t lines_ = 0;
  bool cr_ = false;
  std::string_view problem_;
};

// How the body of a request is delimited.
enum class BodyFraming : uint8_t { None, Length, Chunks };

// The content of a head. Views point into its bytes.
struct ReadHead {
  std::string_view method, path, query;
  std::vector<HttpHeader>* headers = nullptr;  // receives the headers; cleared first
  BodyFraming framing = BodyFraming::None;
  uint64_t length = 0;
  bool is_1_0 = false;
  bool keeps_alive = false;
  bool asks_keep_alive = false;  // "Connection: keep-alive" was sent
  bool expects_continue = false;
};

// Parses a whole head.
HeadProblem read_head(std::string_view bytes, ReadHead& out);

}  // namespace serval
