// The head of an HTTP/1 response. Hot path; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace serval {

// The Connection header to send.
enum class SaidOfConnection : uint8_t { Nothing, KeepAlive, Close };

// Appends the status line and all headers, with the empty line. `lines`: additional headers, each
// with its CRLF. `seconds`: for KeepAlive, how long an idle connection is kept.
void append_answer_head(std::string& out, int status, std::string_view content_type,
                        std::string_view lines, uint64_t content_length,
                        SaidOfConnection connection, uint64_t seconds);

// For example "Not Found" for 404; "Status" for a number without a name.
std::string_view reason_phrase(int status);

}  // namespace serval
