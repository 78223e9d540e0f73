// Codings of HTTP bodies (gzip, deflate): what a request's headers say of them, and answers that
// are packed on another thread than the listener's. Hot path, compressed bodies only.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/bytes/inflate.h"
#include "transport/http.h"

namespace serval {

class Engine;

struct AskedCodings {
  std::optional<Coding> body;    // nothing: it is as it is
  std::optional<Coding> answer;  // the same
};

// The coding that an Accept-Encoding header prefers; nothing: none of ours. `other`: it names
// one that JavaScript may know better. Source: RFC 9110 12.5.3.
std::optional<Coding> preferred_coding(std::string_view accepted, bool& other);

// False: JavaScript has to say what the headers mean. `packs`: answers are packed for who asks.
bool read_codings(const HttpRequest& request, bool packs, AskedCodings& out);

std::string_view name_of(Coding coding);

// zlib's level: fast rather than small, since the answer waits for it.
inline constexpr uint32_t kAnswerLevel = 1;

// An answer that was packed elsewhere.
struct PackedAnswer {
  uint64_t request = 0;
  Coding coding = Coding::Gzip;
  ByteBuffer plain;
  ByteBuffer packed;  // empty: there was no memory for it
};

// Packs long answers of one listener's thread. That thread.
class AnswerPacker {
 public:
  explicit AnswerPacker(CallThread& thread);
  // Answers that come later are freed.
  ~AnswerPacker();
  AnswerPacker(const AnswerPacker&) = delete;
  AnswerPacker& operator=(const AnswerPacker&) = delete;

  // Packs `answer.plain` on another thread of the engine's, then wakes the listener's. False: there
  // is none, and `answer` is as before.
  bool start(Engine& engine, PackedAnswer& answer);
  std::vector<PackedAnswer> take();

 private:
  struct Box {
    std::mutex mutex;
    CallThread* thread;                 // guarded by mutex; null = closed
    std::vector<PackedAnswer> answers;  // guarded by mutex
  };
  const std::shared_ptr<Box> box_;
};

}  // namespace serval
