// Locks of files, which the kernel releases when their process ends, however it ended. Control
// plane; any thread.
#pragma once

#include <cstdint>

namespace serval {

enum class FileLock : uint32_t { Taken = 0, OfAnother = 1, Unavailable = 2 };

// Locks the open file, without waiting, until all copies of this descriptor are closed. A separate
// open of the same file conflicts, in this process too. Unavailable: a file system without locks,
// or not a file. Source: flock(2).
FileLock lock_file(int descriptor);

}  // namespace serval
