// One measurement: when requests are sent, and which of their responses count. Pure, with the time
// as an argument; the load's thread.
//
// closed: a response triggers the next request; measures the responses that arrive in the measured
// time.
//
// open: requests are due by the clock, however slow responses are; measures the requests that were
// due in the measured time, from that moment, even if the client itself was late: requests that
// wait because the server is slow are not left out (coordinated omission).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "load/measure/histogram.h"
#include "load/measure/pacing.h"
#include "load/measure/schedule.h"

namespace serval::load {

// Kinds of failures. Status: the response reports an error, or is not the expected one. Reset: the
// server ended the stream, or refused it while shutting down. Lost: the connection broke. Late: no
// response arrived within the limit.
enum class Failure : uint8_t { Status, Reset, Lost, Late };
inline constexpr size_t kFailureKinds = 4;

struct Measured {
  uint64_t answered = 0;  // without an error, in the measured time
  uint64_t failed = 0;
  std::array<uint64_t, kFailureKinds> failures{};
  std::string first_error;
  Histogram latencies;
  Histogram late;  // open: from when a request was due until it was sent
  uint64_t elapsed_ns = 0;
  uint64_t response_bytes = 0;  // of the last response
  double busy = 0;              // fraction of the measured time in which the thread ran
};

class Sender {
 public:
  virtual ~Sender() = default;
  // Whether a request can be sent now.
  virtual bool free() = 0;
  // Its outcome arrives later through Loop::answered() or Loop::failed(), with `due_ns`.
  virtual void send(uint64_t due_ns) = 0;
};

class Loop {
 public:
  // `sender` outlives it.
  Loop(const Schedule& schedule, uint64_t begins_ns, Sender& sender);

  // Sends the requests that are due by now.
  void pump(uint64_t now_ns);
  void answered(uint64_t due_ns, uint64_t now_ns, uint64_t response_bytes);
  void failed(uint64_t due_ns, uint64_t now_ns, Failure kind, std::string_view error);
  // A stream's next request was sent outside of pump().
  void sent_again() {
    ++in_flight_;
    ++begun_;
  }
  // When to call pump() or over() again if nothing arrives.
  uint64_t next_ns(uint64_t now_ns) const;
  // True once all responses have arrived, or are no longer awaited. Call it at each wake-up: after
  // the end it counts the time between two calls as waiting, up to kWaitStepNs each, because no
  // response can be read while the thread (or the machine) is stopped.
  bool over(uint64_t now_ns);
  // Ends the measurement: requests without a response count as failed.
  Measured finish();

  uint64_t measured_ns() const { return measured_ns_; }
  uint64_t ends_ns() const { return ends_ns_; }
  // Closed loop: whether another request follows the one just answered.
  bool goes_on(uint64_t now_ns) const {
    if (schedule_.requests > 0) return begun_ < schedule_.requests;
    // If late responses count, the full concurrency is sent, however short the time is.
    return now_ns < ends_ns_ || (schedule_.counts_late && begun_ < schedule_.concurrency);
  }

 private:
  void take_due(uint64_t now_ns);
  void count_missing();
  bool counts(uint64_t due_ns, uint64_t now_ns) const;
  void count_failure(Failure kind, std::string_view error, uint64_t count);

  const Schedule schedule_;
  Sender& sender_;
  const uint64_t begins_ns_;
  const uint64_t measured_ns_;
  const uint64_t ends_ns_;
  Pacing pacing_;
  std::deque<uint64_t> waiting_;  // open: due, and not sent yet
  uint64_t in_flight_ = 0;
  uint64_t begun_ = 0;
  uint64_t owed_ = 0;  // open: requests due in the measured time that have no response
  uint64_t last_ns_ = 0;
  uint64_t asked_ns_ = 0;   // the last call of over() after the end; 0 = none
  uint64_t waited_ns_ = 0;  // after the end
  Measured result_;
};

}  // namespace serval::load
