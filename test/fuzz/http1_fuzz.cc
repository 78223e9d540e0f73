// libFuzzer target for reading HTTP/1: arbitrary bytes as a stream of requests. The first byte
// determines where the stream is cut; requests, bodies and refusals must be the same for the whole
// stream, the cut one, and byte by byte. Seeds: corpus/http1.
#include <cstdlib>
#include <string>
#include <vector>

#include "transport/http1/answer.h"
#include "transport/http1/chunks.h"
#include "transport/http1/head.h"

namespace {

using namespace serval;

void check(bool holds) {
  if (!holds) std::abort();
}

// Reads a stream as a connection does, and records the result.
class Reader final : public ChunkSink {
 public:
  void feed(std::string_view bytes) {
    held_ += bytes;
    while (!ended_ && step()) continue;
  }
  const std::string& story() const { return story_; }

  bool chunk_data(std::span<const uint8_t> bytes) override {
    story_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  }

 private:
  enum class Phase { Head, Body, Chunks };

  std::span<const uint8_t> held() const {
    return {reinterpret_cast<const uint8_t*>(held_.data()), held_.size()};
  }
  bool refuse(int status, std::string_view reason) {
    check(status >= 400 && status < 600);
    std::string head;
    append_answer_head(head, status, "application/json", "", reason.size(), SaidOfConnection::Close,
                       1);
    story_ += " refused " + std::to_string(status) + " " + std::string(reason);
    ended_ = true;
    return false;
  }
  bool step() {
    switch (phase_) {
      case Phase::Head: return head();
      case Phase::Body: return body();
      default: return chunks();
    }
  }
  bool head() {
    const LineScanner::Found found = scanner_.scan(held(), LineScanner::Part::Head);
    check(scanner_.bytes() <= held_.size());
    if (found == LineScanner::Found::More) return false;
    if (found == LineScanner::Found::Bad) return refuse(400, scanner_.problem());
    const std::string text =
        held_.substr(scanner_.skipped(), scanner_.bytes() - scanner_.skipped());
    held_.erase(0, scanner_.bytes());
    scanner_.reset();
    ReadHead read;
    std::vector<HttpHeader> headers;
    read.headers = &headers;
    const HeadProblem problem = read_head(text, read);
    if (problem.status != 0) return refuse(problem.status, problem.reason);
    check(!read.method.empty() && !read.path.empty());
    story_ += "\nrequest " + std::string(read.method) + " " + std::string(read.path) + "?" +
              std::string(read.query) + (read.keeps_alive ? " stays" : " ends");
    for (const HttpHeader& header : headers) {
      check(!header.name.empty());
      check(header.value.find_first_of("\r\n") == std::string_view::npos);
      story_ += "\n" + std::string(header.name) + "=" + std::string(header.value);
    }
    story_ += "\n";
    left_ = read.length;
    if (read.framing == BodyFraming::Length) phase_ = Phase::Body;
    if (read.framing == BodyFraming::Chunks) {
      phase_ = Phase::Chunks;
      chunks_.begin(*this);
    }
    return true;
  }
  bool body() {
    const size_t bytes = held_.size() < left_ ? held_.size() : static_cast<size_t>(left_);
    story_ += held_.substr(0, bytes);
    held_.erase(0, bytes);
    left_ -= bytes;
    if (left_ == 0) phase_ = Phase::Head;
    return left_ == 0;
  }
  bool chunks() {
    const ChunkReader::Outcome outcome = chunks_.read(held());
    check(outcome.used <= held_.size());
    held_.erase(0, outcome.used);
    if (outcome.state == ChunkReader::State::Bad) return refuse(outcome.status, outcome.reason);
    if (outcome.state == ChunkReader::State::Done) phase_ = Phase::Head;
    return outcome.used > 0 && !held_.empty();
  }

  Phase phase_ = Phase::Head;
  LineScanner scanner_;
  ChunkReader chunks_;
  std::string held_, story_;
  uint64_t left_ = 0;
  bool ended_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > 4096) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t cut = stream.empty() ? 0 : data[0] * stream.size() / 256;
  Reader whole, parts, bytes;
  whole.feed(stream);
  parts.feed(stream.substr(0, cut));
  parts.feed(stream.substr(cut));
  for (size_t i = 0; i < stream.size(); ++i) bytes.feed(stream.substr(i, 1));
  check(whole.story() == parts.story());
  check(whole.story() == bytes.story());
  return 0;
}
