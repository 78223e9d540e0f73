// One JavaScript thread's link to the engine: its lane, the words shared with
// ts/engine/link.ts, the ArrayBuffers over response memory, the completion queue's wake-up. Thread:
// JavaScript's, except wake().
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "addon/listener_service.h"
#include "addon/napi_api.h"
#include "addon/turn.h"
#include "engine/lane/lane.h"

namespace serval {

// Words of the shared block (Uint32Array in JavaScript).
inline constexpr auto kWordBytes = static_cast<size_t>(fb::LinkWord::Bytes);
inline constexpr auto kWordJsonBytes = static_cast<size_t>(fb::LinkWord::JsonBytes);
inline constexpr auto kWordTicket = static_cast<size_t>(fb::LinkWord::Ticket);
inline constexpr auto kWordGeneration = static_cast<size_t>(fb::LinkWord::Generation);
inline constexpr auto kWordTraced = static_cast<size_t>(fb::LinkWord::Traced);
inline constexpr auto kWordTraceId = static_cast<size_t>(fb::LinkWord::TraceId);
inline constexpr auto kWordSpanId = static_cast<size_t>(fb::LinkWord::SpanId);
inline constexpr auto kWordRing = static_cast<size_t>(fb::LinkWord::Ring);
inline constexpr auto kRingTicket = static_cast<size_t>(fb::RingWord::Ticket);
inline constexpr auto kRingCode = static_cast<size_t>(fb::RingWord::Code);
inline constexpr auto kRingSlot = static_cast<size_t>(fb::RingWord::Slot);
inline constexpr auto kRingBytes = static_cast<size_t>(fb::RingWord::Bytes);
inline constexpr auto kRingJsonBytes = static_cast<size_t>(fb::RingWord::JsonBytes);
inline constexpr auto kRingGeneration = static_cast<size_t>(fb::RingWord::Generation);
inline constexpr auto kRingLoadWaitMs = static_cast<size_t>(fb::RingWord::LoadWaitMs);
inline constexpr auto kRingWords = static_cast<size_t>(fb::RingWord::Words);
inline constexpr size_t kCompletionsPerWake = 64;
inline constexpr size_t kLinkWords = kWordRing + kCompletionsPerWake * kRingWords;
inline constexpr auto kPending = static_cast<uint32_t>(fb::CallResult::Pending);

class Link final : public LaneHooks {
 public:
  explicit Link(napi_env env) : env_(env) {}
  ~Link() override { detach(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Attaches to the engine. `on_completions(count)` is called once per wake-up. Errors:
  // invalid_argument if attached already.
  Status attach(const EngineOptions& options, const ServeSettings& settings,
                napi_value on_completions, napi_value* block);
  void detach();
  // Lets the process end if it has nothing else to do, even while requests are pending here.
  void let_process_end();
  bool attached() const { return lane_ != nullptr; }
  Lane& lane() { return *lane_; }

  // Writes the words of an answer; returns the code that JavaScript gets.
  uint32_t report(const Answer& answer);
  // Returns the buffer of an immediate response: slot 0's, emptied.
  ByteBuffer& clear_answer();
  // Writes an error's text there.
  uint32_t report_error(const Error& error);
  void set_ticket(uint32_t ticket) { block_[kWordTicket] = ticket; }
  // Returns the ArrayBuffer over a slot's response memory.
  napi_value map_slot(uint32_t slot);
  void set_message(napi_value message) { message_ = message; }
  // The native listeners that this thread owns; null = none.
  std::unique_ptr<ListenerService>& listener(ListenerKind kind) {
    return listeners_[static_cast<size_t>(kind)];
  }

  void wake() override;
  void* pin() override;
  void unpin(void* pin) override;
  bool ends_turns() override { return turn_.started(); }

 private:
  static void on_turn_end(void* context);
  static void on_wake(napi_env env, napi_value callback, void* context, void* data);
  // Hands completions to `callback`. `context` is null if JavaScript or the thread-safe function
  // makes the call; the event loop itself passes its context.
  void drain(napi_value callback, napi_async_context context);
  uint32_t generation_of(Request& request);
  void report_trace();

  napi_env env_;
  std::shared_ptr<Lane> lane_;
  std::array<std::unique_ptr<ListenerService>, kListenerKinds> listeners_;
  Turn turn_;
  napi_async_context turn_context_ = nullptr;
  napi_ref callback_ref_ = nullptr;
  napi_threadsafe_function wake_ = nullptr;
  napi_ref block_ref_ = nullptr;
  uint32_t* block_ = nullptr;
  napi_value message_ = nullptr;     // during inferMessage only
  std::vector<napi_ref> slot_refs_;  // the ArrayBuffer handed out per slot
};

}  // namespace serval
