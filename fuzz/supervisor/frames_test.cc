// Messages of a worker whose memory a kernel wrote over: nothing is allocated for them, and nobody waits for
// them.
#include "fuzz/supervisor/frames.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "fuzz/base/bytes.h"

namespace fusesmith::fuzz {
namespace {

class Frames : public testing::Test {
 protected:
  Frames() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0); }
  ~Frames() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  void announce(uint64_t size) const {
    ASSERT_EQ(send(ends_[1], &size, sizeof size, 0), ssize_t{sizeof size});
  }
  static int64_t peak_kib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  }

  int ends_[2] = {};
  const std::function<void()> wait_ = [] {};
};

TEST_F(Frames, AMessageComesAsItWasSent) {
  const std::string text(3 << 20, 'x');
  std::jthread writer([&] { EXPECT_TRUE(write_message(ends_[1], text)); });
  EXPECT_EQ(read_message(ends_[0], wait_), text);
}

TEST_F(Frames, ASizeThatNoMessageHasIsRefused) {
  announce(uint64_t{1} << 30);
  EXPECT_THROW(read_message(ends_[0], wait_), DamagedMessage);
  announce(11);
  EXPECT_THROW(read_message(ends_[0], wait_, {10}), DamagedMessage);
}

TEST_F(Frames, WhatIsAnnouncedTakesNoMemory) {
  const int64_t before = peak_kib();
  announce(MessageLimits{}.most);
  shutdown(ends_[1], SHUT_RDWR);
  EXPECT_FALSE(read_message(ends_[0], wait_));
  EXPECT_LT(peak_kib() - before, 32 << 10);
}

TEST_F(Frames, NobodyWaitsForTheRest) {
  announce(1000);
  EXPECT_THROW(read_message(ends_[0], wait_, {1000, 300}), DamagedMessage);
  ASSERT_EQ(send(ends_[1], "123", 3, 0), 3);  // of the size itself
  EXPECT_THROW(read_message(ends_[0], wait_, {1000, 300}), DamagedMessage);
}

// Each of its elements may be 32 bytes large.
TEST_F(Frames, ACountTakesNoMemory) {
  std::string bytes(64 << 20, '\0');
  const size_t count = bytes.size() - sizeof count;
  bytes.replace(0, sizeof count, reinterpret_cast<const char*>(&count), sizeof count);
  bytes[sizeof count + 7] = '\x7F';  // the first text is larger than all
  const int64_t before = peak_kib();
  EXPECT_FALSE(from_bytes<std::vector<std::string>>(bytes));
  EXPECT_LT(peak_kib() - before, 32 << 10);
}

}  // namespace
}  // namespace fusesmith::fuzz
