// One measurement: when requests are sent, and which of their responses count. Pure, with the time
// as an argument; the load's thread.
//
// closed: a response begins the next request; latencies are those of responses that come in the
// measured time. open: requests are due by the clock, however slow responses are; latencies are
// those of requests that were due in the measured time, counted from that moment, also where the
// client itself was late: requests that wait because the server is slow are not left out
// (coordinated omission).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "load/measure/histogram.h"
#include "load/measure/pacing.h"
#include "load/measure/plan.h"

namespace serval::load {

// Kinds of failures. Status: the response says so, or is not the one expected. Reset: the server
// ended the stream, or refused it as it shuts down. Lost: the connection broke. Late: no response
// came within the limit.
enum class Failure : uint8_t { Status, Reset, Lost, Late };
inline constexpr size_t kFailureKinds = 4;

struct Measured {
  uint64_t answered = 0;  // without an error, in the measured time
  uint64_t failed = 0;
  std::array<uint64_t, kFailureKinds> failures{};
  std::string first_error;
  Histogram latencies;
  Histogram late;  // open: from the moment when a request was due to when it was sent
  uint64_t elapsed_ns = 0;
  uint64_t response_bytes = 0;  // of the last response
  double busy = 0;              // part of the measured time in which the thread ran
};

class Sender {
 public:
  virtual ~Sender() = default;
  // True where a request can be sent now.
  virtual bool free() = 0;
  // Its outcome comes by Loop::answered() or Loop::failed(), with `due_ns`, later.
  virtual void send(uint64_t due_ns) = 0;
};

class Loop {
 public:
  // `sender` outlives it.
  Loop(const Plan& plan, uint64_t begins_ns, Sender& sender);

  // Sends what is to be sent by now.
  void pump(uint64_t now_ns);
  void answered(uint64_t due_ns, uint64_t now_ns, uint64_t response_bytes);
  void failed(uint64_t due_ns, uint64_t now_ns, Failure kind, std::string_view error);
  // A stream's next request was sent beside pump().
  void sent_again() {
    ++in_flight_;
    ++begun_;
  }
  // When pump() or over() is to be called again though nothing came.
  uint64_t next_ns(uint64_t now_ns) const;
  // True once all responses came, or are awaited no longer.
  bool over(uint64_t now_ns) const;
  // Requests without a response have failed then.
  Measured finish();

  uint64_t measured_ns() const { return measured_ns_; }
  uint64_t ends_ns() const { return ends_ns_; }
  // Closed loop: whether another request follows the one that was answered now.
  bool goes_on(uint64_t now_ns) const {
    if (plan_.requests > 0) return begun_ < plan_.requests;
    // Where late responses count, all that may be in flight are sent, however short the time is.
    return now_ns < ends_ns_ || (plan_.counts_late && begun_ < plan_.concurrency);
  }

 private:
  void take_due(uint64_t now_ns);
  bool counts(uint64_t due_ns, uint64_t now_ns) const;
  void count_failure(Failure kind, std::string_view error, uint64_t count);

  const Plan plan_;
  Sender& sender_;
  const uint64_t begins_ns_;
  const uint64_t measured_ns_;
  const uint64_t ends_ns_;
  Pacing pacing_;
  std::deque<uint64_t> waiting_;  // open: due, and not sent yet
  uint64_t in_flight_ = 0;
  uint64_t begun_ = 0;
  uint64_t owed_ = 0;  // open: those that were due in the measured time and have no response
  uint64_t last_ns_ = 0;
  Measured result_;
};

}  // namespace serval::load
