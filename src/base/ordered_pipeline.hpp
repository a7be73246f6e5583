// Work that comes in an order, is done by several threads and is written in that order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace owlet {

/// Calls read() until it returns false, process() on each piece of work and write() on each result in the order of
/// reading. Every one of `num_threads` threads (the caller is one) does what is next to be done: read() and write() run
/// one at a time, on any thread; process() runs on several. At most 3 pieces per thread exist at once. The first
/// exception in the order of reading ends it: all results before are written, then it is thrown here.
template <typename Work, typename Result>
class OrderedPipeline {
 public:
  OrderedPipeline(int num_threads, std::function<bool(Work&)> read, std::function<Result(Work&&)> process,
                  std::function<void(Result&&)> write)
      : num_threads_(num_threads), read_(std::move(read)), process_(std::move(process)), write_(std::move(write)) {}

  void run() {
    std::vector<std::thread> threads;
    try {
      for (int i = 1; i < num_threads_; ++i) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // Fewer threads than asked do the same, only slower.
    }
    work();
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Done {
    std::optional<Result> result;
    std::exception_ptr error;
  };

  void work() {
    while (wait_for_room()) {
      Work work;
      Done done;
      uint64_t number = 0;
      if (!read_next(work, number, done.error)) return;
      try {
        if (!done.error) done.result.emplace(process_(std::move(work)));
      } catch (...) {
        done.error = std::current_exception();
      }
      deliver(number, std::move(done));
    }
  }

  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    // The piece that is written next is either here, and then a thread is writing, or a thread is processing it.
    has_room_.wait(lock, [this] { return is_stopped_ || done_.size() < 2 * static_cast<size_t>(num_threads_); });
    return !is_stopped_;
  }

  bool read_next(Work& work, uint64_t& number, std::exception_ptr& error) {
    const std::lock_guard lock(read_mutex_);
    if (is_read_) return false;
    try {
      is_read_ = !read_(work);
      if (is_read_) return false;
    } catch (...) {
      error = std::current_exception();
      is_read_ = true;
    }
    number = num_read_++;
    return true;
  }

  void deliver(uint64_t number, Done&& done) {
    std::unique_lock lock(mutex_);
    done_.emplace(number, std::move(done));
    if (is_writing_) return;
    is_writing_ = true;
    for (auto next = done_.find(num_written_); next != done_.end() && !is_stopped_; next = done_.find(num_written_)) {
      Done current = std::move(next->second);
      done_.erase(next);
      ++num_written_;
      lock.unlock();
      has_room_.notify_all();
      try {
        if (!current.error) write_(std::move(*current.result));
      } catch (...) {
        current.error = std::current_exception();
      }
      lock.lock();
      if (current.error) {
        error_ = current.error;
        is_stopped_ = true;
      }
    }
    is_writing_ = false;
    has_room_.notify_all();
  }

  int num_threads_;
  std::function<bool(Work&)> read_;
  std::function<Result(Work&&)> process_;
  std::function<void(Result&&)> write_;
  std::mutex read_mutex_;  // of the next two
  bool is_read_ = false;
  uint64_t num_read_ = 0;
  std::mutex mutex_;  // of the rest
  std::condition_variable has_room_;
  std::map<uint64_t, Done> done_;
  uint64_t num_written_ = 0;
  bool is_writing_ = false, is_stopped_ = false;
  std::exception_ptr error_;
};

}  // namespace owlet
