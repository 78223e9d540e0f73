// Replaces the C library's stderr inside libjpeg and libpng (CMakeLists.txt renames it there).
// Their messages go to our handlers, so nothing reads it.
#include <cstdio>

extern "C" {
extern std::FILE* serval_no_stream;
std::FILE* serval_no_stream = nullptr;
}
