// See code_pages.h. Linux's /proc, glibc's list of loaded objects.
#include "engine/watch/code_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <system_error>

namespace serval {

namespace {

constexpr uint64_t kBytesMin = 1 << 20;  // smaller mappings are not worth a call
constexpr std::string_view kPrivateRead = "r--p", kPrivateRun = "r-xp";

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

template <typename Number>
bool read_number(std::string_view text, int base, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

// The first line of a mapping: "from-to permissions offset device inode path". Empty where it is no
// file's, or may be written to.
PageRange file_range(std::string_view line) {
  const std::string_view range = take_word(line);
  const std::string_view permissions = take_word(line);
  if (permissions != kPrivateRead && permissions != kPrivateRun) return {};
  for (int skipped = 0; skipped < 3; ++skipped) take_word(line);
  if (!take_word(line).starts_with('/')) return {};
  const size_t dash = range.find('-');
  uintptr_t from = 0, to = 0;
  if (dash == range.npos || !read_number(range.substr(0, dash), 16, from) ||
      !read_number(range.substr(dash + 1), 16, to) || to < from) {
    return {};
  }
  return {from, to - from};
}

struct Mapping {
  PageRange range;
  uint64_t resident_kb = 0;
  // Both have to be told, as 0.
  uint64_t changed_kb = UINT64_MAX, swapped_kb = UINT64_MAX;
};

}  // namespace

std::vector<PageRange> unchanged_file_pages(std::string_view smaps, uint64_t bytes_min) {
  std::vector<PageRange> found;
  Mapping mapping;
  const auto end_mapping = [&] {
    const auto& [range, resident_kb, changed_kb, swapped_kb] = mapping;
    if (range.bytes > 0 && changed_kb == 0 && swapped_kb == 0 && resident_kb >= bytes_min / 1024) {
      found.push_back(range);
    }
  };
  while (!smaps.empty()) {
    std::string_view line = take_line(smaps);
    if (line.empty()) continue;
    if (line.front() < 'A' || line.front() > 'Z') {  // "7f..-7f.. ": keys begin with a capital
      end_mapping();
      mapping = {file_range(line)};
      continue;
    }
    const std::string_view key = take_word(line);
    uint64_t kb = 0;
    if (!read_number(take_word(line), 10, kb)) continue;
    if (key == "Rss:") mapping.resident_kb = kb;
    if (key == "Anonymous:") mapping.changed_kb = kb;
    if (key == "Swap:") mapping.swapped_kb = kb;
  }
  end_mapping();
  return found;
}

namespace {

bool holds(const PageRange& outer, const PageRange& inner) {
  return inner.from >= outer.from && inner.from - outer.from <= outer.bytes &&
         inner.bytes <= outer.bytes - (inner.from - outer.from);
}

// The whole pages of a segment that nobody can write to; empty of another.
PageRange read_only_pages(const dl_phdr_info& object, const ElfW(Phdr) & segment) {
  if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) return {};
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t from = object.dlpi_addr + segment.p_vaddr;
  const uintptr_t first = from / page * page;
  return {first, (from + segment.p_memsz + page - 1) / page * page - first};
}

// The loader keeps each object mapped while it asks about it.
int drop_of_object(dl_phdr_info* object, size_t, void* unchanged) {
  for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    const PageRange pages = read_only_pages(*object, segment);
    for (const PageRange& range : *static_cast<const std::vector<PageRange>*>(unchanged)) {
      if (range.bytes == 0 || !holds(pages, range)) continue;
      // Refused for pages that are locked in memory, which then stay.
      madvise(reinterpret_cast<void*>(range.from), range.bytes, MADV_DONTNEED);
    }
  }
  return 0;
}

}  // namespace

void drop_start_code() {
  static std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  std::ifstream file("/proc/self/smaps", std::ios::binary);
  const std::string smaps{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<PageRange> unchanged = unchanged_file_pages(smaps, kBytesMin);
  dl_iterate_phdr(drop_of_object, &unchanged);
}

}  // namespace serval
