#include "base/stop_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace owlet {

namespace {

constexpr int kInterruptedExitCode = 130;

std::atomic<int> requested_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "the signal handler may only touch lock-free atomics");

int num_objects = 0;
struct sigaction previous_interrupt, previous_terminate;

extern "C" void handle_stop_signal(int number) {
  if (number == SIGINT && requested_signal.load() != 0) _exit(kInterruptedExitCode);
  requested_signal.store(number);
}

}  // namespace

StopSignal::StopSignal() {
  if (num_objects++ > 0) return;
  requested_signal.store(0);
  struct sigaction action {};
  action.sa_handler = handle_stop_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_interrupt);
  sigaction(SIGTERM, &action, &previous_terminate);
}

StopSignal::~StopSignal() {
  if (--num_objects > 0) return;
  sigaction(SIGINT, &previous_interrupt, nullptr);
  sigaction(SIGTERM, &previous_terminate, nullptr);
}

bool StopSignal::is_requested() const { return requested_signal.load() != 0; }

int StopSignal::signal_number() const { return requested_signal.load(); }

void StopSignal::request() { requested_signal.store(SIGINT); }

}  // namespace owlet
