// Ctrl-C and `kill` as a request that long work looks at between steps.
//
//   StopSignal stop;                       // in the command
//   while (!stop.is_requested()) step();   // then write a checkpoint and end with exit code 130
#pragma once

namespace owlet {

/// While an object lives, the first SIGINT or SIGTERM of the process only sets a flag; a SIGINT after that ends the
/// process at once with exit code 130. The last object's end restores the handlers that were there before. All objects
/// share the one flag of the process; the first object clears it. is_requested() may be called by any thread;
/// create and destroy the objects on one thread.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool is_requested() const;
  /// The signal that asked (SIGINT or SIGTERM), 0 if none: the exit code is 128 + this number.
  int signal_number() const;
  /// Asks as a signal would; for tests and for stopping from another thread.
  void request();
};

}  // namespace owlet
