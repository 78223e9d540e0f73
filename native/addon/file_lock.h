// Locks of files, which the kernel gives back when their process is gone, however it ended.
// Control plane; any thread.
#pragma once

#include <cstdint>

namespace serval {

enum class FileLock : uint32_t { Taken = 0, OfAnother = 1, Unavailable = 2 };

// Locks the open file for as long as somebody has this descriptor open, without waiting. Others
// that opened it for themselves are others, in this process too. Unavailable: a file system without
// locks, or no file. Source: flock(2).
FileLock lock_file(int descriptor);

}  // namespace serval
