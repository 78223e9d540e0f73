// The folder of the sources. Not compiled in, so that a compiler cache finds the tests of another
// checkout. Test code.
#pragma once

#include <cstdlib>
#include <string>

namespace serval {

// SERVAL_ROOT, which the runner of the tests sets, or the working folder.
inline std::string source_folder() {
  const char* variable = std::getenv("SERVAL_ROOT");
  return variable != nullptr && *variable != '\0' ? variable : ".";
}

}  // namespace serval
