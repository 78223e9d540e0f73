// Remembers which recent streams were opened and ended. Hot path.
#include "transport/http2/stream_history.h"

namespace serval {

uint64_t StreamHistory::bit_of(int32_t stream) const {
  if (stream <= 0 || stream % 2 == 0 || stream > last_) return 0;
  const int32_t back = (last_ - stream) / 2;
  return back < kRemembered ? uint64_t{1} << back : 0;
}

StreamHistory::Verdict StreamHistory::headers(int32_t stream, bool ends) {
  if (stream % 2 != 0 && stream > last_) {
    const int64_t ahead = (int64_t{stream} - last_) / 2;
    opened_ = ahead < kRemembered ? opened_ << ahead : 0;
    ended_ = ahead < kRemembered ? ended_ << ahead : 0;
    last_ = stream;
    opened_ |= 1;
    if (ends) ended_ |= 1;
    return Verdict::Fine;
  }
  const uint64_t bit = bit_of(stream);
  if ((bit & ended_) != 0) return Verdict::Ended;
  if ((bit & ~opened_) != 0) return Verdict::Skipped;
  if (ends) ended_ |= bit;
  return Verdict::Fine;
}

}  // namespace serval
