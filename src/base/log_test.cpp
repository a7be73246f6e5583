#include "base/log.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace owlet {
namespace {

TEST(Log, SinksReceiveMessagesUntilRemoved) {
  std::vector<std::string> received;
  log_info("before {}", 1);
  const int id = add_log_sink([&](LogLevel level, std::string_view message) {
    received.push_back((level == LogLevel::warning ? "W " : "I ") + std::string(message));
  });
  log_info("step {}", 2);
  log_warning("odd {}", "value");
  remove_log_sink(id);
  log_info("after");
  EXPECT_EQ(received, (std::vector<std::string>{"I step 2", "W odd value"}));
}

TEST(Log, AThrowingOrLoggingSinkHurtsNobody) {
  int received = 0;
  const int throwing = add_log_sink([](LogLevel, std::string_view) { throw std::runtime_error("sink"); });
  const int logging = add_log_sink([](LogLevel, std::string_view) { log_info("again"); });
  const int counting = add_log_sink([&](LogLevel, std::string_view) { ++received; });
  log_info("one");
  EXPECT_EQ(received, 1);
  for (const int id : {throwing, logging, counting}) remove_log_sink(id);
}

TEST(Log, SeveralThreadsMayLog) {
  int received = 0;
  const int id = add_log_sink([&](LogLevel, std::string_view) { ++received; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 200; ++j) log_info("{}", j);
    });
  }
  for (std::thread& thread : threads) thread.join();
  remove_log_sink(id);
  EXPECT_EQ(received, 800);
}

}  // namespace
}  // namespace owlet
