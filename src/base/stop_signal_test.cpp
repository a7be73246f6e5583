#include "base/stop_signal.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace owlet {
namespace {

TEST(StopSignal, SignalsOnlySetTheFlag) {
  for (const int number : {SIGINT, SIGTERM}) {
    const StopSignal stop;
    EXPECT_FALSE(stop.is_requested());
    raise(number);
    EXPECT_TRUE(stop.is_requested());
    EXPECT_EQ(stop.signal_number(), number);
  }
}

TEST(StopSignal, ObjectsShareTheFlag) {
  const StopSignal outer;
  {
    StopSignal inner;
    inner.request();
  }
  EXPECT_TRUE(outer.is_requested());
}

TEST(StopSignal, RestoresTheHandlersBefore) {
  const auto previous = signal(SIGTERM, SIG_IGN);
  { const StopSignal stop; }
  EXPECT_EQ(signal(SIGTERM, previous), SIG_IGN);
}

TEST(StopSignalDeathTest, SecondInterruptEndsAtOnce) {
  const auto interrupt_twice = [] {
    const StopSignal stop;
    raise(SIGINT);
    raise(SIGINT);
    _exit(0);
  };
  EXPECT_EXIT(interrupt_twice(), testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace owlet
