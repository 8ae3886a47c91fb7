#include "runtime/wireup/place.h"

#include <gtest/gtest.h>

#include "runtime/wireup/door_words.h"

namespace mpc::wireup {
namespace {

Place some_place() {
  Place place{"/tmp/a folder,with:all", 0xabc, {}};
  place.door.port = 1234;
  place.door.key = make_secret();
  place.door.addresses = {"10.0.0.1", "fd00::1"};
  return place;
}

TEST(Place, IsReadAsItWasWritten) {
  const Place place = some_place();
  const auto read = read_place(text_of(place));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->folder, place.folder);
  EXPECT_EQ(read->host, place.host);
  EXPECT_EQ(read->door.port, place.door.port);
  EXPECT_EQ(read->door.key, place.door.key);
  EXPECT_EQ(read->door.addresses, place.door.addresses);
  EXPECT_TRUE(read->is_same_lobby(place));
  const auto here = read_place("/tmp/mpc-0");
  ASSERT_TRUE(here);
  EXPECT_EQ(text_of(*here), "/tmp/mpc-0");
  EXPECT_FALSE(here->has_door());
}

TEST(Place, ThatIsTooLongLosesAddressesThenItsDoor) {
  const Place place = some_place();
  const std::string whole = text_of(place);
  const auto shorter = read_place(text_of(place, whole.size() - 1));
  ASSERT_TRUE(shorter);
  EXPECT_EQ(shorter->door.addresses, std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(text_of(place, 30), place.folder);
}

TEST(Place, OfTheSameFolderOnAnotherHostIsAnotherOne) {
  Place place = some_place();
  const Place own{place.folder, 0, {}};
  EXPECT_FALSE(own.is_same_lobby(place));
  place.host = host_identity();
  EXPECT_TRUE(own.is_same_lobby(place));
}

TEST(Place, AnythingElseIsNone) {
  const std::string key(32, '0');
  for (const std::string& text :
       {std::string(), std::string("relative"), std::string("@"), std::string("@1"),
        "@0,1," + key + ",10.0.0.1,/f", "@1,0," + key + ",10.0.0.1,/f",
        "@1,65536," + key + ",10.0.0.1,/f", std::string("@1,1,abc,10.0.0.1,/f"),
        "@1,1," + key + ",/f", "@1,1," + key + ",10.0.0.1,",
        "@1,1," + key + ",a host,/f", "@1,1," + key + ",,/f",
        "@1x,1," + key + ",10.0.0.1,/f"})
    EXPECT_FALSE(read_place(text)) << text;
}

TEST(Words, AreReadAsTheyWereWritten) {
  const Words words = {"name", "", "two words", "last"};
  std::string arrived = pack(words) + pack({"more"});
  bool is_wrong = false;
  const auto first = take_message(arrived, &is_wrong);
  ASSERT_TRUE(first);
  EXPECT_EQ(unpack(*first), words);
  EXPECT_EQ(unpack(*take_message(arrived, &is_wrong)), Words{"more"});
  EXPECT_FALSE(take_message(arrived, &is_wrong));
  EXPECT_FALSE(is_wrong);
  arrived = pack(words).substr(0, 7);
  EXPECT_FALSE(take_message(arrived, &is_wrong));
  EXPECT_FALSE(is_wrong);
  arrived = "\xff\xff\xff\xff";
  EXPECT_FALSE(take_message(arrived, &is_wrong));
  EXPECT_TRUE(is_wrong);
}

}  // namespace
}  // namespace mpc::wireup
