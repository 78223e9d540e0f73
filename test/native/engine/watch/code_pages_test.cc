// Which mappings are unchanged, by the text of smaps; a library's mapping that is released, and a
// mapped file's that is not.
#include "engine/watch/code_pages.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <string>

namespace serval::test {
namespace {

// One mapping as the kernel writes it, with some of its lines.
std::string mapping(const std::string& head, uint64_t resident_kb, uint64_t changed_kb,
                    uint64_t swapped_kb = 0) {
  return head + "\nSize:              31228 kB\nKernelPageSize:        4 kB\nRss:             " +
         std::to_string(resident_kb) +
         " kB\nPss:                1 kB\nAnonymous:       " + std::to_string(changed_kb) +
         " kB\nAnonHugePages:         0 kB\nSwap:            " + std::to_string(swapped_kb) +
         " kB\nSwapPss:               0 kB\nVmFlags: rd ex mr mw me\n";
}

const std::string kLibrary =
    "7fb1ba13c000-7fb1bc3c9000 r-xp 0139e000 fe:00 4567 /opt/a b/libx.so.1";
constexpr uint64_t kMin = 1 << 20;

size_t found(const std::string& smaps) { return unchanged_file_pages(smaps, kMin).size(); }

TEST(CodePages, AreThoseOfUnchangedFiles) {
  const std::string smaps =
      mapping("00400000-00e37000 r--p 00000000 fe:00 12 /usr/bin/node", 8988, 0) +
      mapping(kLibrary, 16156, 0) +
      mapping("7fb20fe00000-7fb20ffe0000 rw-p 00000000 00:00 0 ", 1856, 1856);
  const std::vector<PageRange> ranges = unchanged_file_pages(smaps, kMin);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].from, 0x00400000u);
  EXPECT_EQ(ranges[0].bytes, 0xa37000u);
  EXPECT_EQ(ranges[1].from, 0x7fb1ba13c000u);
  EXPECT_EQ(ranges[1].bytes, 0x7fb1bc3c9000u - 0x7fb1ba13c000u);
}

TEST(CodePages, ChangedOnesStay) {
  EXPECT_EQ(found(mapping(kLibrary, 16156, 4)), 0u);     // relocated, or a breakpoint
  EXPECT_EQ(found(mapping(kLibrary, 16156, 0, 4)), 0u);  // the same, swapped out
}

TEST(CodePages, WritableSharedAndNamelessOnesStay) {
  for (const std::string head : {
           "7f0000000000-7f0001000000 rw-p 00000000 fe:00 12 /usr/lib/libx.so",
           "7f0000000000-7f0001000000 r--s 00000000 fe:00 12 /dev/shm/x",
           "7f0000000000-7f0001000000 ---p 00000000 fe:00 12 /usr/lib/libx.so",
           "7f0000000000-7f0001000000 r-xp 00000000 00:00 0 [vdso]",
           "7f0000000000-7f0001000000 r-xp 00000000 00:00 0 ",
           "7f0000000000-7f0001000000 rwxp 00000000 fe:00 12 /usr/lib/libx.so",
       }) {
    EXPECT_EQ(found(mapping(head, 16156, 0)), 0u) << head;
  }
}

TEST(CodePages, SmallOnesStay) {
  EXPECT_EQ(found(mapping(kLibrary, 1023, 0)), 0u);
  EXPECT_EQ(found(mapping(kLibrary, 1024, 0)), 1u);
}

TEST(CodePages, WhatCannotBeReadStays) {
  EXPECT_EQ(found(""), 0u);
  EXPECT_EQ(found("\n\n"), 0u);
  EXPECT_EQ(found(kLibrary), 0u);
  EXPECT_EQ(found(kLibrary + "\nRss: 16156 kB\n"), 0u);  // an old kernel: changes are not reported
  EXPECT_EQ(found(kLibrary + "\nRss: 16156 kB\nAnonymous: x kB\nSwap: 0 kB\n"), 0u);
  EXPECT_EQ(found(mapping("7fb1bc3c9000-7fb1ba13c000 r-xp 0 fe:00 4567 /lib/x", 16156, 0)), 0u);
  EXPECT_EQ(found(mapping("7fb1ba13c000 r-xp 0 fe:00 4567 /lib/x", 16156, 0)), 0u);
  EXPECT_EQ(found(mapping("7fb1ba13z000-7fb1bc3c9000 r-xp 0 fe:00 4567 /lib/x", 16156, 0)), 0u);
  EXPECT_EQ(found("Rss: 16156 kB\nAnonymous: 0 kB\nSwap: 0 kB\n"), 0u);
}

constexpr size_t kBytes = 4 << 20;

// True if the mapping at `at` is now among the unchanged and resident ones.
bool unchanged(const uint8_t* at) {
  std::ifstream file("/proc/self/smaps", std::ios::binary);
  const std::string smaps{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto address = reinterpret_cast<uintptr_t>(at);
  for (const PageRange& range : unchanged_file_pages(smaps, kMin)) {
    if (address >= range.from && address - range.from < range.bytes) return true;
  }
  return false;
}

// A mapped file of `kBytes` bytes, all of them 7.
class MappedFile {
 public:
  explicit MappedFile(const std::string& name) : path_(testing::TempDir() + name) {
    std::ofstream(path_, std::ios::binary) << std::string(kBytes, 7);
    const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    void* at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    close(file);
    if (at != MAP_FAILED) bytes_ = {static_cast<volatile uint8_t*>(at), kBytes};
  }
  ~MappedFile() {
    munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
    std::remove(path_.c_str());
  }

  std::span<volatile uint8_t> bytes() const { return bytes_; }
  uint64_t sum() const { return std::accumulate(bytes_.begin(), bytes_.end(), uint64_t{0}); }
  void protect() const { mprotect(const_cast<uint8_t*>(bytes_.data()), bytes_.size(), PROT_READ); }

 private:
  const std::string path_;
  std::span<volatile uint8_t> bytes_;
};

// The largest segment of a loaded library that nobody can write to, all of it resident.
class LibraryCode {
 public:
  explicit LibraryCode(const char* name) : library_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    link_map* map = nullptr;
    if (dlinfo(library_, RTLD_DI_LINKMAP, &map) != 0) return;
    Found found{map->l_addr, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* into) {
          Found& wanted = *static_cast<Found*>(into);
          if (object->dlpi_addr != wanted.base) return 0;
          for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
            if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
            if (segment.p_memsz <= wanted.code.size()) continue;
            const auto* at = reinterpret_cast<const uint8_t*>(wanted.base + segment.p_vaddr);
            wanted.code = {at, segment.p_memsz};
          }
          return 0;
        },
        &found);
    code_ = found.code;
  }
  ~LibraryCode() {
    if (library_ != nullptr) dlclose(library_);
  }

  std::span<const volatile uint8_t> code() const { return code_; }
  uint64_t sum() const { return std::accumulate(code_.begin(), code_.end(), uint64_t{0}); }

 private:
  struct Found {
    uintptr_t base;
    std::span<const volatile uint8_t> code;
  };
  void* library_;
  std::span<const volatile uint8_t> code_;
};

TEST(CodePages, OfLibrariesAreDroppedOnceAndReadAgainAsTheyWere) {
  const LibraryCode library("libcrypto.so.3");
  ASSERT_GT(library.code().size(), kMin);
  const auto* code = const_cast<const uint8_t*>(library.code().data());
  const MappedFile plain("code_pages_plain"), changed("code_pages_changed");
  ASSERT_EQ(plain.bytes().size(), kBytes);
  ASSERT_EQ(changed.bytes().size(), kBytes);
  changed.bytes()[kBytes / 2] = 8;
  plain.protect();
  changed.protect();
  const uint64_t sum = library.sum();
  EXPECT_EQ(plain.sum(), 7 * kBytes);
  EXPECT_EQ(changed.sum(), 7 * kBytes + 1);
  EXPECT_TRUE(unchanged(code));
  EXPECT_TRUE(unchanged(const_cast<uint8_t*>(plain.bytes().data())));
  EXPECT_FALSE(unchanged(const_cast<uint8_t*>(changed.bytes().data())));

  drop_start_code();
  EXPECT_FALSE(unchanged(code));  // none of it is resident
  // Not a library: its owner may have mapped memory there since.
  EXPECT_TRUE(unchanged(const_cast<uint8_t*>(plain.bytes().data())));
  EXPECT_EQ(library.sum(), sum);
  EXPECT_EQ(plain.sum(), 7 * kBytes);
  EXPECT_EQ(changed.sum(), 7 * kBytes + 1);
  EXPECT_TRUE(unchanged(code));

  drop_start_code();
  EXPECT_TRUE(unchanged(code));
}

}  // namespace
}  // namespace serval::test
