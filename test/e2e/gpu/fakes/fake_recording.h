// Recordings of CUDA graphs for fake_cudart.cc, in CUDA's global mode: a call that CUDA does not
// allow meanwhile fails on a thread in the global mode (the default) while any thread records, and
// on one in the thread-local mode while it records itself; both spoil the graph. Test code. Source:
// CUDA Runtime API, cudaThreadExchangeStreamCaptureMode.
#pragma once

#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace fake_recording {

inline constexpr int kUnsupported = 900, kInvalidated = 901;
inline constexpr int kGlobal = 0, kThreadLocal = 1;  // cudaStreamCaptureMode

struct Recordings {
  std::mutex mutex;
  std::map<std::thread::id, bool> spoilt;  // of each thread that records
  int refused = 0;                         // this many of the next calls meet one
};
inline Recordings& recordings() {
  static auto* one = new Recordings;
  return *one;
}
inline thread_local int mode = kGlobal;

// Returns 0 or the error of a call that meets a recording.
inline int unsafe_call() {
  Recordings& all = recordings();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.refused > 0) {
    --all.refused;
    return kUnsupported;
  }
  const std::thread::id own = std::this_thread::get_id();
  const bool meets =
      mode == kGlobal ? !all.spoilt.empty() : mode == kThreadLocal && all.spoilt.count(own) > 0;
  if (!meets) return 0;
  for (auto& [thread, spoilt] : all.spoilt) spoilt = spoilt || mode == kGlobal || thread == own;
  return kUnsupported;
}

}  // namespace fake_recording

extern "C" {

inline __attribute__((used)) int cudaThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, fake_recording::mode);
  return 0;
}
inline __attribute__((used)) int cudaDeviceSynchronize() { return fake_recording::unsafe_call(); }

// Starts a recording on the calling thread. Returns 0.
inline __attribute__((used)) int fake_cuda_begin_recording() {
  auto& all = fake_recording::recordings();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.spoilt[std::this_thread::get_id()] = false;
  return 0;
}
// Returns 0 or the error of a recording that a call spoilt.
inline __attribute__((used)) int fake_cuda_end_recording() {
  auto& all = fake_recording::recordings();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto own = all.spoilt.extract(std::this_thread::get_id());
  return !own.empty() && own.mapped() ? fake_recording::kInvalidated : 0;
}
// Makes that many of the next calls meet a recording, whatever the mode of their threads.
inline __attribute__((used)) void fake_cuda_meet_recording(int count) {
  auto& all = fake_recording::recordings();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.refused = count;
}
}
