// One request in progress, which the listener's thread and an instance thread hand to each other. A
// Request belongs to its listener's slot table and is reused; the ticket names slot and use.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "backend/backend.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "codec/request.h"
#include "engine/cache/keyed_hash.h"
#include "engine/limits/admission.h"
#include "engine/request/protocol.h"
#include "engine/request/trace.h"

namespace serval {

class Home;
class Model;
struct StepCall;
struct TaskGroup;

// Written by the listener's thread until it is queued, by the instance thread until it is
// completed, by the listener's thread again afterwards. `cancel` may be set at any time by the
// listener's thread, and by others while the request is in its model's RunningRequests.
struct Request {
  uint32_t slot = 0;
  uint32_t use = 0;  // counts the slot's uses; part of the ticket
  // The request's stage, as the listener's thread knows it. Queued: waiting, running or completed.
  // Taken: its response is being handed over. Kept: the response was handed over and is still read.
  // Tasks: its tasks are queued as separate requests, which use its bytes.
  enum class Stage : uint8_t { Free, Body, Queued, Control, Taken, Kept, Tasks };
  Stage stage = Stage::Free;
  Protocol protocol = Protocol::V1Predict;
  int64_t json_bytes = -1;
  ByteBuffer body;
  std::span<const uint8_t> pinned;  // gRPC: bytes that JavaScript or a group owns, not `body`
  // addon's reference that keeps those bytes; dropped on the JS thread
  void* pin = nullptr;
  std::shared_ptr<TaskGroup> group;  // of a MultiInferenceRequest and of each of its tasks
  std::string_view task_signature;   // for such a task: the signature to run
  StepCall* step = nullptr;          // a step of an ensemble: its tensors; the request has no bytes
  std::shared_ptr<Model> model;
  std::shared_ptr<Home> home;  // set while queued: the queue that returns it
  CancelFlag cancel;
  Admission admission;           // its place under the limits of its model and its caller
  size_t running_at = 0;         // its index there
  Stopwatch queued;              // when it began to wait
  std::unique_ptr<Trace> trace;  // null: it is not traced

  // Its position in the queue; written by the listener's thread before it is pushed.
  SchedulePolicy schedule;
  uint32_t key = 0;                // its caller; requests of one wait in their order
  uint32_t key_weight = 100;       // the caller's weight
  uint64_t deadline_ns = 0;        // now_ns() by which it must have begun; 0 = none
  uint64_t policy_timeout_ns = 0;  // the same, from the queue's policy
  // Down: its model's process did not return in time.
  enum class Late : uint8_t { No, Timeout, Deadline, Down };
  Late late = Late::No;  // set by the queue when it hands the request back without a run

  // Set once it waits for its model's process: the now_ns() until which it does. 0 = it did not
  // wait.
  uint64_t wait_until_ns = 0;
  // Waited for a model that was not loaded and now has another in its place: not finished.
  bool again = false;
  uint64_t load_wait_ns = 0;  // from its arrival to the end of that load
  // Waits for the end of the run of an equal request, whose key in the response cache this is. It
  // does so once.
  CacheKey equal_key;
  bool waits_for_equal = false, waited_for_equal = false;
  bool died = false;  // was in flight when its model's process ended; does not run a third time

  ErrorCode code = ErrorCode::Ok;
  ByteBuffer response;               // response, or the error's text
  size_t json_bytes_out = 0;         // V2 REST with binary data: length of the JSON
  uint32_t response_generation = 0;  // generation of the memory of `response`: JavaScript's mapping
  const uint8_t* response_mapped = nullptr;
  size_t response_mapped_bytes = 0;

  // Rounded up; 0: it did not wait.
  uint64_t load_wait_ms() const { return (load_wait_ns + kNsPerMs - 1) / kNsPerMs; }
  size_t held_bytes() const { return body.base_bytes() + response.base_bytes(); }
  std::span<const uint8_t> bytes() const {
    return pinned.data() != nullptr ? pinned : body.bytes();
  }
};

}  // namespace serval
