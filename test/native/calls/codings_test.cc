// Content codings in headers, read as content-encoding.ts reads them.
#include "calls/codings.h"

#include <gtest/gtest.h>

namespace serval {
namespace {

class CodedRequest final : public HttpRequest {
 public:
  CodedRequest(std::initializer_list<HttpHeader> headers) { headers_ = headers; }
  bool is_local() const override { return false; }
  void send(const HttpAnswer&) override {}
  void want_body() override {}
  void set_paused(bool) override {}
};

TEST(PreferredCoding, IsTheOneWithTheHighestQualityAndTheFirstOfEquals) {
  struct Case {
    std::string_view accepted;
    std::string_view coding;  // "" = none
    bool other;
  };
  const Case cases[] = {
      {"gzip", "gzip", false},
      {"gzip, deflate", "gzip", false},
      {"deflate, gzip", "deflate", false},
      {"gzip, deflate, br, zstd", "gzip", false},
      {"GZip ; Q=0.5 , deflate;q=0.8", "deflate", false},
      {"x-gzip", "gzip", false},
      {"*", "gzip", false},
      {"br", "", false},
      {"identity", "", false},
      {"gzip;q=0", "", false},
      {"gzip;q=cake", "", false},
      {"zstd", "", true},
      {"zstd, gzip", "gzip", false},
      {"gzip;q=0.5, zstd", "gzip", true},
      {" , ,", "", false},
  };
  for (const Case& one : cases) {
    bool other = false;
    const std::optional<Coding> coding = preferred_coding(one.accepted, other);
    EXPECT_EQ(coding.has_value() ? name_of(*coding) : "", one.coding) << one.accepted;
    EXPECT_EQ(other, one.other) << one.accepted;
  }
}

TEST(ReadCodings, LeavesToJavaScriptWhatItDoesNotKnow) {
  AskedCodings out;
  EXPECT_TRUE(read_codings(CodedRequest({{"Content-Encoding", " GZIP"}}), true, out));
  EXPECT_EQ(out.body, Coding::Gzip);
  EXPECT_FALSE(out.answer.has_value());
  AskedCodings plain;
  EXPECT_TRUE(read_codings(CodedRequest({{"Content-Encoding", "identity"}}), true, plain));
  EXPECT_FALSE(plain.body.has_value());
  EXPECT_FALSE(read_codings(CodedRequest({{"content-encoding", "zstd"}}), true, plain));
  EXPECT_FALSE(read_codings(CodedRequest({{"content-encoding", "gzip, gzip"}}), true, plain));
  EXPECT_FALSE(read_codings(
      CodedRequest({{"content-encoding", "gzip"}, {"Content-Encoding", "gzip"}}), true, plain));
  AskedCodings answer;
  EXPECT_TRUE(read_codings(CodedRequest({{"accept-encoding", "deflate"}}), false, answer));
  EXPECT_FALSE(answer.answer.has_value());
  EXPECT_TRUE(read_codings(CodedRequest({{"accept-encoding", "deflate"}}), true, answer));
  EXPECT_EQ(answer.answer, Coding::Deflate);
  EXPECT_FALSE(read_codings(CodedRequest({{"accept-encoding", "zstd"}}), true, answer));
  EXPECT_FALSE(read_codings(CodedRequest({{"accept-encoding", "gzip"}, {"accept-encoding", "br"}}),
                            true, answer));
}

}  // namespace
}  // namespace serval
