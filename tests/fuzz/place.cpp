// Place, words: any text in the name of a port, and any bytes that a visitor of a door sends, are read or refused.

#include "runtime/wireup/place.h"

#include "runtime/wireup/door_words.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mpc::fuzz::Bytes bytes(data, size);
  if (const auto place = mpc::wireup::read_place(bytes.rest())) {
    FUZZ_CLAIM(place->folder.front() == '/');
    FUZZ_CLAIM(place->has_door() == !place->door.addresses.empty());
    const std::string text = mpc::wireup::text_of(*place);
    const auto again = mpc::wireup::read_place(text);
    FUZZ_CLAIM(again && mpc::wireup::text_of(*again) == text);
    FUZZ_CLAIM(mpc::wireup::text_of(*place, 40).size() <= 40 ||
               mpc::wireup::text_of(*place, 40) == place->folder);
  }
  std::string arrived(bytes.rest());
  bool is_wrong = false;
  while (const auto message = mpc::wireup::take_message(arrived, &is_wrong)) {
    const mpc::wireup::Words words = mpc::wireup::unpack(*message);
    // What was read is written as it was, but for a zero at its end that may have been missing.
    if (message->empty() || message->back() == '\0')
      FUZZ_CLAIM(mpc::wireup::pack(words).substr(sizeof(uint32_t)) == *message);
  }
  return 0;
}
