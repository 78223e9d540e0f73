// Locks files with flock(), which does not depend on process ids and so not on containers either.
#include "addon/file_lock.h"

#include <sys/file.h>

#include <cerrno>

namespace serval {

FileLock lock_file(int descriptor) {
  int failed = 0;
  do failed = flock(descriptor, LOCK_EX | LOCK_NB);
  while (failed != 0 && errno == EINTR);
  if (failed == 0) return FileLock::Taken;
  return errno == EWOULDBLOCK ? FileLock::OfAnother : FileLock::Unavailable;
}

}  // namespace serval
