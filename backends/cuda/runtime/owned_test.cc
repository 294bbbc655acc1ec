#include "backends/cuda/runtime/owned.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace fusesmith::backends {
namespace {

std::vector<int> given_back;
int give_back(int* number) {
  given_back.push_back(*number);
  return 0;
}
using OwnedNumber = Owned<int*, give_back>;

int first = 1, second = 2;

OwnedNumber made(int& number) {
  return owned<OwnedNumber>([&](int** to) { *to = &number; });
}
OwnedNumber failed() {
  return owned<OwnedNumber>([](int**) { throw std::runtime_error("out of memory"); });
}

struct AllMade {
  OwnedNumber a = made(first), b = made(second);
};
struct LastFails {
  OwnedNumber a = made(first), b = made(second), c = failed();
};

TEST(Owned, GivesBackInTheReverseOrder) {
  given_back.clear();
  {
    const AllMade all;
    EXPECT_TRUE(given_back.empty());
  }
  EXPECT_EQ(given_back, (std::vector<int>{2, 1}));
}

TEST(Owned, AConstructorThatThrowsGivesBackWhatItHadMade) {
  given_back.clear();
  EXPECT_THROW(LastFails(), std::runtime_error);
  EXPECT_EQ(given_back, (std::vector<int>{2, 1}));
}

}  // namespace
}  // namespace fusesmith::backends
