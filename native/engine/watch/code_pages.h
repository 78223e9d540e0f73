// Lets go of the pages of the program and its libraries that were only needed to start: Node's own
// start, the library's registration of some thousand operators. They are files' pages, which the
// kernel keeps and maps anew when they are needed after all; nothing is read from disk. Control
// plane; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace serval {

struct PageRange {
  uintptr_t from = 0;
  size_t bytes = 0;
};

// Of the text of /proc/self/smaps: private mappings of files that nobody can write to, of which no
// page was changed (by a relocation, a debugger), and of which at least `bytes_min` are resident.
// What cannot be read is left out.
std::vector<PageRange> unchanged_file_pages(std::string_view smaps, uint64_t bytes_min);

// Unmaps them in this process, at the first call; later ones do nothing.
void drop_start_code();

}  // namespace serval
