// The handler for faults in shared memory: faults elsewhere are passed on. Each case runs in its
// own process, forked before this one has registered a region, because the first region installs
// the handler.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <thread>

#include "engine/shm/region.h"
#include "engine/shm/shm_object.h"

namespace serval::test {
namespace {

constexpr size_t kBytes = 4096;

// Runs `child` in its own process; returns its exit code, or minus the signal that ended it.
template <typename Child>
int outcome_of(Child child) {
  const pid_t pid = fork();
  if (pid == 0) {
    child();
    _exit(7);  // no signal ended it
  }
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// Reads a region that was truncated: our handler deals with it. Exits 1 if it is not marked.
void fault_in_region() {
  ShmObject object(kBytes);
  auto region = SharedRegion::open({"r", object.key(), 0, kBytes});
  if (!region.ok()) _exit(1);
  object.unlink();
  object.resize(0);
  const volatile uint8_t* data = region.value()->data();
  const bool zero = data[0] == 0;
  object.resize(kBytes);
  if (!zero || region.value()->check().ok()) _exit(1);
}

// Truncates a mapping that is not a region, and reads it.
void fault_elsewhere() {
  ShmObject object(kBytes);
  const volatile uint8_t* data = object.data();
  object.unlink();
  object.resize(0);
  (void)data[0];
}

TEST(FaultHandler, WhatIsNotOursGoesToTheHandlerBefore) {
  EXPECT_EQ(outcome_of([] {
              (void)signal(SIGBUS, [](int) { _exit(42); });
              fault_in_region();
              fault_elsewhere();
            }),
            42);
}

TEST(FaultHandler, TheHandlerBeforeIsToldTheAddress) {
  EXPECT_EQ(outcome_of([] {
              struct sigaction own = {};
              own.sa_flags = SA_SIGINFO;
              own.sa_sigaction = [](int, siginfo_t* info, void*) {
                _exit(info->si_addr != nullptr && info->si_code == BUS_ADRERR ? 43 : 1);
              };
              (void)sigaction(SIGBUS, &own, nullptr);
              fault_in_region();
              fault_elsewhere();
            }),
            43);
}

TEST(FaultHandler, WithoutOneBeforeTheProcessEndsAsItWould) {
  EXPECT_EQ(outcome_of([] {
              (void)signal(SIGBUS, SIG_DFL);
              fault_in_region();
              fault_elsewhere();
            }),
            -SIGBUS);
  EXPECT_EQ(outcome_of([] {
              (void)signal(SIGBUS, SIG_DFL);
              fault_in_region();
              (void)kill(getpid(), SIGBUS);
              for (;;) std::this_thread::yield();
            }),
            -SIGBUS)
      << "sent by a process";
}

TEST(FaultHandler, AReleasedRegionIsNoLongerOurs) {
  EXPECT_EQ(outcome_of([] {
              (void)signal(SIGBUS, [](int) { _exit(42); });
              ShmObject object(kBytes);
              const volatile uint8_t* data = nullptr;
              {
                auto region = SharedRegion::open({"r", object.key(), 0, kBytes});
                data = region.value()->data();
                (void)data[0];
              }
              object.unlink();
              // Another mapping at the region's address.
              void* again = mmap(const_cast<uint8_t*>(data), kBytes, PROT_READ,
                                 MAP_SHARED | MAP_FIXED, object.file(), 0);
              if (again == MAP_FAILED) _exit(1);
              object.resize(0);
              (void)data[0];
            }),
            42);
}

}  // namespace
}  // namespace serval::test
