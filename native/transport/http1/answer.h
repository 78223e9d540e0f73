// The head of an HTTP/1 answer. Hot path; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace serval {

// How the connection goes on, as it is said to the client.
enum class SaidOfConnection : uint8_t { Nothing, KeepAlive, Close };

// Appends the status line and all headers, with the empty line. `lines`: more headers, each with
// its CRLF. `seconds`: for KeepAlive, how long an idle connection stays.
void append_answer_head(std::string& out, int status, std::string_view content_type,
                        std::string_view lines, uint64_t content_length,
                        SaidOfConnection connection, uint64_t seconds);

// "Not Found" of 404; "Status" of a number without a name.
std::string_view reason_phrase(int status);

}  // namespace serval
