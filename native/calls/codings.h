// Codings of HTTP bodies (gzip, deflate): what a request's headers ask for, and compression of
// responses on a thread other than the listener's. Hot path, compressed bodies only.
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
  std::optional<Coding> body;    // nothing: not compressed
  std::optional<Coding> answer;  // nothing: not compressed
};

// The coding that an Accept-Encoding header prefers; nothing: none that is supported here. `other`
// is set if it names one that JavaScript may support. Source: RFC 9110 12.5.3.
std::optional<Coding> preferred_coding(std::string_view accepted, bool& other);

// False: JavaScript has to interpret the headers. `packs`: responses are compressed on request.
bool read_codings(const HttpRequest& request, bool packs, AskedCodings& out);

std::string_view name_of(Coding coding);

// zlib's level: fast rather than small, since the response waits for it.
inline constexpr uint32_t kAnswerLevel = 1;

// A response that was compressed on another thread.
struct PackedAnswer {
  uint64_t request = 0;
  Coding coding = Coding::Gzip;
  ByteBuffer plain;
  ByteBuffer packed;  // empty: out of memory
};

// Compresses long responses of one listener's thread. Called on that thread.
class AnswerPacker {
 public:
  explicit AnswerPacker(CallThread& thread);
  // Responses that finish later are freed.
  ~AnswerPacker();
  AnswerPacker(const AnswerPacker&) = delete;
  AnswerPacker& operator=(const AnswerPacker&) = delete;

  // Compresses `answer.plain` on another thread of the engine, then wakes the listener's thread.
  // False: no thread is available, and `answer` is unchanged.
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
