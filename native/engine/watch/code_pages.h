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

// Unmaps those of the program and of the libraries that are loaded, at the first call; later ones
// do nothing. Other mappings of files stay as they are: who made them (V8 maps Node's own code
// again for each worker thread, a model's file is read) may have unmapped them since, and what is
// mapped in their place by now would be lost.
void drop_start_code();

}  // namespace serval
