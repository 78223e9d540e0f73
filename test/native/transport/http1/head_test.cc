// Request heads: where they end, what they contain, and which are refused with which status.
#include "transport/http1/head.h"
#include "base/bytes/views.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace serval {
namespace {

using Found = LineScanner::Found;
using Part = LineScanner::Part;

// A head that arrived as a whole, read as a connection does.
struct Outcome {
  int status = 0;
  std::string reason;
  ReadHead head;
};

class Heads : public ::testing::Test {
 protected:
  Outcome read(const std::string& text) {
    text_ = text;
    LineScanner scanner;
    const Found found = scanner.scan(bytes_of(text_), Part::Head);
    if (found == Found::Bad) return {400, std::string(scanner.problem()), {}};
    EXPECT_EQ(found, Found::End) << text;
    EXPECT_EQ(scanner.bytes(), text_.size());
    Outcome out;
    out.head.headers = &headers_;
    const auto head = std::string_view(text_).substr(scanner.skipped());
    HeadProblem problem = read_head(head, out.head);
    out.status = problem.status;
    out.reason = problem.reason;
    return out;
  }
  int status(const std::string& text) { return read(text).status; }
  // Returns the status of a head with a request line and a Host before these lines.
  int status_of(const std::string& lines) {
    return status("POST /x HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n");
  }
  std::string value(std::string_view name) const {
    for (const HttpHeader& header : headers_) {
      if (is_header(header.name, name)) return std::string(header.value);
    }
    return "(none)";
  }

  std::string text_;
  std::vector<HttpHeader> headers_;
};

TEST_F(Heads, SayMethodPathQueryAndHeaders) {
  const Outcome out = read(
      "POST /v1/models/a:predict?b=c%20d HTTP/1.1\r\nHost: example.org:80\r\n"
      "X-Empty:\r\nX-Space: \t a b \t\r\nContent-Length: 12\r\n\r\n");
  EXPECT_EQ(out.status, 0) << out.reason;
  EXPECT_EQ(out.head.method, "POST");
  EXPECT_EQ(out.head.path, "/v1/models/a:predict");
  EXPECT_EQ(out.head.query, "b=c%20d");
  EXPECT_EQ(value("host"), "example.org:80");
  EXPECT_EQ(value("x-empty"), "");
  EXPECT_EQ(value("x-space"), "a b");
  EXPECT_EQ(out.head.framing, BodyFraming::Length);
  EXPECT_EQ(out.head.length, 12u);
  EXPECT_TRUE(out.head.keeps_alive);
  EXPECT_FALSE(out.head.is_1_0);
}

TEST_F(Heads, EndTheSameWhereverTheyAreCut) {
  const std::string text = "\r\nGET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    LineScanner scanner;
    Found found = scanner.scan(bytes_of(text).first(cut), Part::Head);
    if (cut < text.size()) {
      EXPECT_EQ(found, Found::More) << cut;
      found = scanner.scan(bytes_of(text + "more"), Part::Head);
    }
    EXPECT_EQ(found, Found::End) << cut;
    EXPECT_EQ(scanner.bytes(), text.size()) << cut;
    EXPECT_EQ(scanner.skipped(), 2u) << cut;
  }
}

// Source: RFC 9112 2.2, 5.
TEST_F(Heads, HaveLinesThatEndWithCrLf) {
  for (const char* text : {
           "GET / HTTP/1.1\nHost: a\r\n\r\n",             // bare LF
           "GET / HTTP/1.1\r\nHost: a\n\r\n",             //
           "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",     // bare CR
           "GET / HTTP/1.1\rHost: a\r\n\r\n",             //
           "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n",         //
           "GET / HTTP/1.1\r\nHost: a\r\n X: b\r\n\r\n",  // folded
           "GET / HTTP/1.1\r\n\tHost: a\r\n\r\n",         //
           " GET / HTTP/1.1\r\nHost: a\r\n\r\n",          //
           "GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n",       // controls
           "GET / HTTP/1.1\r\nHost: a\x7f\r\n\r\n",       //
           "GET /\x1b HTTP/1.1\r\nHost: a\r\n\r\n",       //
           "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
       }) {
    EXPECT_EQ(status(text), 400) << text;
  }
  EXPECT_EQ(status(std::string("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 28)), 400);
}

TEST_F(Heads, WithBrokenHeadersAreRefused) {
  for (const char* lines : {"X : b\r\n", "X\r\n", ": b\r\n", "X Y: b\r\n", "(X): b\r\n",
                            "X\tY: b\r\n", "\"X\": b\r\n", "X@: b\r\n", "X\xc3\xa4: b\r\n"}) {
    EXPECT_EQ(status_of(lines), 400) << lines;
  }
  EXPECT_EQ(status_of("X_y.z~!#$%&'*+-^`|: b\r\n"), 0);
  EXPECT_EQ(status_of("X: \xc3\xa4\r\n"), 0) << "bytes over 127 are opaque";
}

// Source: RFC 9112 3.2.
TEST_F(Heads, HaveExactlyOneHost) {
  EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(status_of("Host: a\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 0);
  for (const char* host :
       {"a:", "a:80", "[::1]", "[::1]:80", "[v1.x:y]", "a_b.c-d.", "%41", "a,b"}) {
    EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"), 0) << host;
    EXPECT_EQ(status("GET http://" + std::string(host) + "/ HTTP/1.1\r\nHost: a\r\n\r\n"), 0)
        << host;
  }
  for (const char* host : {"a:8x", "a:-1", "a:80:80", "::1", "[::1", "[]", "[::1]x", "[::1]80",
                           "[::1]:x", "a[b]", "[a b]", "[a]]", "a\xc3\xa4"}) {
    EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"), 400) << host;
    EXPECT_EQ(status("GET http://" + std::string(host) + "/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400)
        << host;
  }
}

TEST_F(Heads, TakeTargetsInEveryFormButConnects) {
  const Outcome absolute = read("GET http://b:1/p?q HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(absolute.status, 0) << absolute.reason;
  EXPECT_EQ(absolute.head.path, "/p");
  EXPECT_EQ(absolute.head.query, "q");
  EXPECT_EQ(value("host"), "b:1");
  const Outcome bare = read("GET HTTP://b?q HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(bare.status, 0) << bare.reason;
  EXPECT_EQ(bare.head.path, "/");
  EXPECT_EQ(bare.head.query, "q");
  const Outcome star = read("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(star.status, 0) << star.reason;
  EXPECT_EQ(star.head.path, "*");
  for (const char* target : {"*", "x", "ftp://a/b", "http://", "http:///x", "a:80", "?x"}) {
    EXPECT_EQ(status("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n"), 400) << target;
  }
  EXPECT_EQ(status("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"), 501);
}

TEST_F(Heads, OfOtherVersionsAndMethodsAreRefused) {
  for (const char* version : {"HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3.0", "HTTP/9.9"}) {
    EXPECT_EQ(status("GET / " + std::string(version) + "\r\nHost: a\r\n\r\n"), 505) << version;
  }
  for (const char* line : {"GET / HTTP/1.1 ", "GET / http/1.1", "GET / HTTP/1.1x", "GET / HTTP/11",
                           "GET / HTTP/1", "GET /", "GET", "GET  / HTTP/1.1", "GET /  HTTP/1.1",
                           "GET\t/ HTTP/1.1", "G@T / HTTP/1.1", "GET / x HTTP/1.1"}) {
    const int got = status(std::string(line) + "\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(got == 400 || got == 505) << line << ": " << got;
  }
  EXPECT_EQ(status("PRI * HTTP/2.0\r\n\r\n"), 505);
  for (const char* method : {"FETCH", "M-SEARCH", "X", "A_B"}) {
    EXPECT_EQ(read(method + std::string(" / HTTP/1.1\r\nHost: a\r\n\r\n")).head.method, method);
    EXPECT_EQ(status(method + std::string(" / HTTP/1.1\r\nHost: a\r\n\r\n")), 0);
  }
  for (const char* method : {"get", "abcGET", "GET1", "G.T", "CONNECT"}) {
    EXPECT_EQ(status(method + std::string(" / HTTP/1.1\r\nHost: a\r\n\r\n")), 501) << method;
  }
}

// Source: RFC 9112 6.
TEST_F(Heads, SayTheLengthOfABodyOnce) {
  EXPECT_EQ(status_of("Content-Length: 3\r\nContent-Length: 3\r\n"), 400);
  EXPECT_EQ(status_of("Content-Length: 3\r\nContent-Length: 4\r\n"), 400);
  EXPECT_EQ(status_of("Content-Length: 3, 3\r\n"), 400);
  EXPECT_EQ(status_of("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(status_of("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400);
  EXPECT_EQ(status_of("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
  for (const char* length : {"-1", "+1", "0x10", "1 2", "a", "", "1_000", "1.0",
                             "99999999999999999999", "18446744073709551616"}) {
    EXPECT_EQ(status_of("Content-Length: " + std::string(length) + "\r\n"), 400) << length;
  }
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked",
                             "identity", "xchunked", "\"chunked\"", "chunked;a=b"}) {
    const int got = status_of("Transfer-Encoding: " + std::string(coding) + "\r\n");
    EXPECT_TRUE(got == 400 || got == 501) << coding << ": " << got;
  }
  EXPECT_EQ(status_of("Transfer-Encoding: CHUNKED\r\n"), 0);
  EXPECT_EQ(status("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(read("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").head.framing,
            BodyFraming::None);
  EXPECT_EQ(read("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n")
                .head.length,
            UINT64_MAX);
}

TEST_F(Heads, SayWhetherTheConnectionStays) {
  const auto keeps = [this](const std::string& version, const std::string& lines) {
    const Outcome out = read("GET / " + version + "\r\nHost: a\r\n" + lines + "\r\n");
    EXPECT_EQ(out.status, 0) << out.reason;
    return out.head.keeps_alive;
  };
  EXPECT_TRUE(keeps("HTTP/1.1", ""));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: keep-alive, Close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0", ""));
  EXPECT_TRUE(keeps("HTTP/1.0", "Connection: Keep-Alive\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0", "Connection: keep-alive, close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0", "Connection: close\r\nConnection: keep-alive\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.1", "Connection: closed, x-close\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.1", "Connection: upgrade\r\nUpgrade: h2c\r\n"))
      << "nobody upgrades: the request is answered";
}

TEST_F(Heads, KnowExpectInAnyCase) {
  EXPECT_TRUE(
      read("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n").head.expects_continue);
  EXPECT_EQ(status_of("Expect: something\r\n"), 417);
  EXPECT_FALSE(read("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").head.expects_continue)
      << "HTTP/1.0 has none";
}

TEST_F(Heads, HaveAtMostAHundredHeaders) {
  std::string lines;
  for (int i = 0; i < 99; ++i) lines += "X-" + std::to_string(i) + ": a\r\n";
  EXPECT_EQ(status_of(lines), 0);
  EXPECT_EQ(status_of(lines + "Y: a\r\n"), 431);
}

}  // namespace
}  // namespace serval
