// Timing of a loop of launches, from one thread or from several at once.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

using LaunchClock = std::chrono::steady_clock;

inline double seconds_between(LaunchClock::time_point begin, LaunchClock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Calls `launch` `calls` times on each of `threads` threads and returns the seconds between the first thread's begin
/// and the last one's end. Each thread first calls `prepare`, and `launch` `warm_up` times, before any of them begins.
/// One thread means the calling one. What `prepare` or `launch` throw is thrown here.
template <class Prepare, class Launch>
double seconds_of_launches(int threads, int calls, int warm_up, Prepare prepare, Launch launch) {
  if (threads == 1) {
    for (int i = 0; i < warm_up; ++i) launch();
    const auto begin = LaunchClock::now();
    for (int i = 0; i < calls; ++i) launch();
    return seconds_between(begin, LaunchClock::now());
  }
  struct Span {
    LaunchClock::time_point begin, end;
    std::exception_ptr error;
  };
  std::vector<Span> spans(threads);
  std::atomic<int> arrived = 0;
  const auto work = [&](Span& span) {
    try {
      prepare();
      for (int i = 0; i < warm_up; ++i) launch();
    } catch (...) {
      span.error = std::current_exception();
    }
    // A blocked thread wakes up late, and the time until then would count.
    for (++arrived; arrived < threads;) std::this_thread::yield();
    span.begin = LaunchClock::now();
    try {
      for (int i = 0; !span.error && i < calls; ++i) launch();
    } catch (...) {
      span.error = std::current_exception();
    }
    span.end = LaunchClock::now();
  };
  std::vector<std::thread> pool;
  for (Span& span : spans) pool.emplace_back(work, std::ref(span));
  for (std::thread& thread : pool) thread.join();
  auto [begin, end, error] = spans.front();
  for (const Span& span : spans) {
    if (span.error) std::rethrow_exception(span.error);
    begin = std::min(begin, span.begin);
    end = std::max(end, span.end);
  }
  return seconds_between(begin, end);
}
