// Files of `mpcrun --trace`: mpcinfo lists and draws any of them, or says what is wrong.

#include "tests/fuzz/bytes.h"
#include "tests/fuzz/temporary_file.h"
#include "tools/mpcinfo/page.h"
#include "tools/mpcinfo/trace_read.h"
#include "tools/mpcinfo/trace_svg.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static mpc::fuzz::TemporaryFile file;
  file.fill(mpc::fuzz::Bytes(data, size).rest());
  const auto trace = mpc::tools::read_trace(file.path());
  if (!trace) {
    FUZZ_CLAIM(!trace.error().message.empty());
    return 0;
  }
  size_t number = 0;
  for (const auto& collective : trace->collectives) {
    const auto summary = mpc::tools::summarize(*trace, collective);
    FUZZ_CLAIM(!mpc::tools::bytes_text(summary.bytes).empty());
    FUZZ_CLAIM(!mpc::tools::collective_svg(*trace, number++).empty());
  }
  FUZZ_CLAIM(mpc::tools::page_data(*trace).at("ranks") == trace->ranks);
  return 0;
}
