// Output lines of a model's process. Each is logged with the names of its models, however it is
// split on arrival; long lines are logged in pieces, and the last one without a line end.
#include "backend/isolated/output.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace serval::isolated {
namespace {

std::string all_of(int fd) {
  std::string text;
  char bytes[4096];
  for (ssize_t count = 0; (count = read(fd, bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<size_t>(count));
  }
  return text;
}

TEST(IsolatedOutput, LinesHaveTheModelsNames) {
  const std::string text = "first\n\nsecond line\nrest";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    std::string pending, lines;
    for (size_t at = 0; at < text.size(); at += piece) {
      take_lines("a,b", pending, std::string_view(text).substr(at, piece), lines);
    }
    EXPECT_EQ(lines, "model 'a,b': first\nmodel 'a,b': \nmodel 'a,b': second line\n");
    EXPECT_EQ(pending, "rest");
  }
}

TEST(IsolatedOutput, ALineWithoutEndComesInPieces) {
  const std::string text(3 * kOutputLineMax + 10, 'x');
  std::string pending, lines;
  take_lines("m", pending, text, lines);
  EXPECT_EQ(lines.size(), 3 * (kOutputLineMax + std::string_view("model 'm': \n").size()));
  EXPECT_EQ(pending.size(), 10u);
}

TEST(IsolatedOutput, PassesOnWhatThereIsAndTheRestAtTheEnd) {
  Result<Pipe> from = make_pipe(), to = make_pipe();
  ASSERT_TRUE(from.ok() && to.ok());
  {
    Output output(from.value().reads.get(), to.value().writes.get());
    output.pass_on("m");
    EXPECT_FALSE(output.ended());
    const std::string_view text = "one\ntwo";
    ASSERT_EQ(write(from.value().writes.get(), text.data(), text.size()), 7);
    output.pass_on("m");
    EXPECT_FALSE(output.ended());
    EXPECT_EQ(all_of(to.value().reads.get()), "model 'm': one\n");
    from.value().writes = Descriptor();
    output.pass_on("m");
    EXPECT_TRUE(output.ended());
  }
  EXPECT_EQ(all_of(to.value().reads.get()), "model 'm': two\n");
}

}  // namespace
}  // namespace serval::isolated
