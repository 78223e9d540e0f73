// Chunked bodies: the same data however they are split; invalid chunks are refused.
#include "transport/http1/chunks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace serval {
namespace {

using State = ChunkReader::State;

class Body final : public ChunkSink {
 public:
  bool chunk_data(std::span<const uint8_t> bytes) override {
    data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return data.size() < stops_at;
  }
  std::string data;
  size_t stops_at = SIZE_MAX;
};

struct Chunks {
  State state = State::More;
  int status = 0;
  std::string data, rest;
};

// `pieces` is the split body; bytes that were not consumed are passed again.
Chunks read_pieces(const std::vector<std::string>& pieces, size_t stops_at = SIZE_MAX) {
  ChunkReader reader;
  Body body;
  body.stops_at = stops_at;
  reader.begin(body);
  Chunks out;
  std::string held;
  for (const std::string& piece : pieces) {
    held += piece;
    if (out.state != State::More) continue;
    const auto outcome = reader.read({reinterpret_cast<const uint8_t*>(held.data()), held.size()});
    held.erase(0, outcome.used);
    out.state = outcome.state;
    out.status = outcome.status;
  }
  out.data = body.data;
  out.rest = held;
  return out;
}

Chunks read(const std::string& text) { return read_pieces({text}); }

TEST(Chunks, AreOneBody) {
  const Chunks out = read("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nNEXT");
  EXPECT_EQ(out.state, State::Done);
  EXPECT_EQ(out.data, "abc0123456789");
  EXPECT_EQ(out.rest, "NEXT");
}

TEST(Chunks, AreTheSameWhereverTheyAreCut) {
  const std::string text = "3;a=b\r\nabc\r\n00a\r\n0123456789\r\n0\r\nX-Trailer: y\r\n\r\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const Chunks out = read_pieces({text.substr(0, cut), text.substr(cut), "NEXT"});
    EXPECT_EQ(out.state, State::Done) << cut;
    EXPECT_EQ(out.data, "abc0123456789") << cut;
    EXPECT_EQ(out.rest, "NEXT") << cut;
  }
  std::vector<std::string> bytes;
  for (const char one : text) bytes.emplace_back(1, one);
  EXPECT_EQ(read_pieces(bytes).data, "abc0123456789");
}

// Source: RFC 9112 7.1.
TEST(Chunks, ThatAreBrokenAreRefused) {
  for (const char* text : {
           "zz\r\nabc\r\n0\r\n\r\n",
           ":\r\nabc\r\n",
           "<\r\n",
           "G\r\n",
           "?\r\n",
           "\r\nabc\r\n",
           "3\nabc\r\n0\r\n\r\n",
           "3\r\nabcd\r\n",
           "3\r\nabc0\r\n\r\n",
           "3\r\nabc\n0\r\n\r\n",
           "3\r\nabc\r\r\n0\r\n\r\n",
           "-3\r\nabc\r\n",
           "+3\r\nabc\r\n",
           "0x3\r\nabc\r\n",
           " 3\r\nabc\r\n",
           "3 \r\nabc\r\n0\r\n\r\n",
           "3\tx\r\nabc\r\n",
           "10000000000000000\r\n",
           "8000000000000000\r\n",
           "ffffffffffffffff\r\n",
           "3h\r\nabc\r\n",
           "3_\r\nabc\r\n",
           "3\r\r\nabc\r\n",
           "3\rabc\r\n0\r\n\r\n",
           ";a\r\n",
           "fffffffffffffffff\r\n",
           "0\r\nX: a\n\r\n",
           "0\r\nX: a\rY: b\r\n\r\n",
           "0\r\n X: a\r\n\r\n",
           "0\r\nX\r\n\r\n",
           "0\r\nX : a\r\n\r\n",
           "0\r\n: a\r\n\r\n",
           "0\r\nX(y): a\r\n\r\n",
           "0\r\nX: a\x7f\r\n\r\n",
           "0\r\nContent-Length: 9\r\n\r\n",
           "0\r\nX: a\r\ntransfer-Encoding: chunked\r\n\r\n",
       }) {
    const Chunks out = read(text);
    EXPECT_EQ(out.state, State::Bad) << text;
    EXPECT_EQ(out.status, 400) << text;
  }
}

TEST(Chunks, HaveExtensionsThatArePassedOver) {
  for (const char* extension : {";a", ";a=b", ";a;b", ";a=b;c=d", ";a=\"x y\"", ";a=\"x\";b",
                                ";a=\"b\\\"c\"", ";a=\"b;c\"", ";a=\"\xc3\xa4\t\"", ";=a", ";a="}) {
    const Chunks out = read("3" + std::string(extension) + "\r\nabc\r\n0;z\r\n\r\n");
    EXPECT_EQ(out.state, State::Done) << extension;
    EXPECT_EQ(out.data, "abc") << extension;
  }
  EXPECT_EQ(read("3;a=" + std::string(20'000, 'x') + "\r\nabc\r\n").status, 413);
  std::string many;
  for (int i = 0; i < 2100; ++i) many += "1;chunk=1\r\na\r\n";
  EXPECT_EQ(read(many + "0\r\n\r\n").status, 413) << "all extensions of a body count";
}

// Source: RFC 9112 7.1.1. RFC 9112 calls this white space bad, and nobody sends it.
TEST(Chunks, WithBrokenExtensionsAreRefused) {
  for (const std::string extension :
       {";", ";;a", " ;a", "; a", ";a =b", ";a= b", ";a\t", ";a=\"b", ";a=\"b\"c", ";a=b\"c\"",
        ";a,b", ";a=\"\\\x01\"", ";a=\"\x01\"", ";a\x7f", ";a\n", ";a\rb", ";\xc3\xa4"}) {
    const Chunks out = read("3" + extension + "\r\nabc\r\n0\r\n\r\n");
    EXPECT_EQ(out.state, State::Bad) << extension;
    EXPECT_EQ(out.status, 400) << extension;
  }
  EXPECT_EQ(read(std::string("3;a\0\r\nabc\r\n", 12)).status, 400);
}

TEST(Chunks, HaveSizesWithZerosBefore) {
  const Chunks out =
      read(std::string(40, '0') + "3\r\nabc\r\n" + std::string(20, '0') + "\r\n\r\n");
  EXPECT_EQ(out.state, State::Done);
  EXPECT_EQ(out.data, "abc");
  EXPECT_EQ(read("7fffffffffffffff\r\nabc").state, State::More);
}

TEST(Chunks, HaveTrailersThatAreDropped) {
  const Chunks out = read("3\r\nabc\r\n0\r\nX-Sum: 9\r\nHost: b\r\n\r\nNEXT");
  EXPECT_EQ(out.state, State::Done);
  EXPECT_EQ(out.rest, "NEXT");
  EXPECT_EQ(read("0\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n").status, 431);
}

TEST(Chunks, StopWhereNobodyWantsMore) {
  EXPECT_EQ(read_pieces({"3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"}, 1).state, State::Stopped);
}

}  // namespace
}  // namespace serval
