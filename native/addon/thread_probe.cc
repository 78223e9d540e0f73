// Counts the threads that can be started. Control plane; any thread.
#include "addon/thread_probe.h"

#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/threads.h"

namespace serval {

uint32_t startable_threads(uint32_t wanted) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < wanted; ++i) {
    std::thread thread;
    const bool started = start_thread_in(thread, [&] {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return done; });
    });
    if (!started) break;
    threads.push_back(std::move(thread));
  }
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  changed.notify_all();
  for (std::thread& thread : threads) thread.join();
  return static_cast<uint32_t>(threads.size());
}

}  // namespace serval
