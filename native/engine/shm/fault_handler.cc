// Handles missing pages. Uses atomics without locks and mmap, which on Linux is a bare system call:
// both are safe in a signal handler.
#include "engine/shm/fault_handler.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>

namespace serval {

namespace {

static_assert(std::atomic<uintptr_t>::is_always_lock_free);

constinit std::array<FaultRegion, kFaultRegionsMax> fault_regions;
constinit std::atomic<size_t> used{0};  // entries from here on were never used
uintptr_t page_bytes = 0;               // set before the handler is
struct sigaction before = {};           // likewise
std::mutex claim_mutex;

// Returns the region that contains `address`, or null. Reads `begin` twice: an entry that is
// reassigned to another region meanwhile is not mistaken for either.
FaultRegion* find(uintptr_t address) {
  const size_t count = used.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    FaultRegion& one = fault_regions[i];
    const uintptr_t begin = one.begin.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address >= one.end.load(std::memory_order_acquire)) {
      continue;
    }
    if (one.begin.load(std::memory_order_acquire) == begin) return &one;
  }
  return nullptr;
}

// Maps zeros in place of the page that has no file content. The faulting instruction runs again.
bool replace_page(uintptr_t address) {
  FaultRegion* region = find(address);
  if (region == nullptr) return false;
  void* page = reinterpret_cast<void*>(address & ~(page_bytes - 1));  // NOLINT: of a fault
  void* zeros = mmap(page, page_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (zeros == MAP_FAILED) return false;
  region->broken.store(true, std::memory_order_release);
  return true;
}

void hand_on(int number, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    // The process ends as it would have without this handler; the signal is raised again, since
    // another process may have sent it.
    (void)signal(number, SIG_DFL);
    (void)raise(number);
  }
}

void on_fault(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  // A code of 0 or less means that a process sent the signal: not a memory fault, and no address.
  const bool ours = info->si_code > 0 && replace_page(reinterpret_cast<uintptr_t>(info->si_addr));
  if (!ours) hand_on(number, info, context);
  errno = saved;
}

void install() {
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGBUS, nullptr, &before);
  (void)sigaction(SIGBUS, &action, nullptr);
}

}  // namespace

FaultRegion* add_fault_region(const void* begin, size_t bytes) {
  const std::lock_guard lock(claim_mutex);
  if (page_bytes == 0) install();
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const size_t count = used.load(std::memory_order_relaxed);
  for (size_t i = 0; i < fault_regions.size(); ++i) {
    FaultRegion& one = fault_regions[i];
    if (one.begin.load(std::memory_order_relaxed) != 0) continue;
    one.broken.store(false, std::memory_order_relaxed);
    one.end.store(first + bytes, std::memory_order_release);
    one.begin.store(first, std::memory_order_release);
    if (i >= count) used.store(i + 1, std::memory_order_release);
    return &one;
  }
  return nullptr;
}

void remove_fault_region(FaultRegion* region) { region->begin.store(0, std::memory_order_release); }

}  // namespace serval
