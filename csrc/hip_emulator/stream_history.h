// What operations of streams did, as far as later ones are compared with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

namespace wave::hip_emulator {

/// By a stream's number: how many of its operations.
using StreamCounts = std::map<uint64_t, uint64_t>;

/// Operations of a stream are numbered from 1 and run in order, so that the ones that come before a moment are the
/// first so many. Each stream's stand in order here: whoever looks for the others begins at the newest, and ends at the
/// first that comes before. Not thread-safe.
template <class What>
class StreamHistory {
 public:
  struct Entry {
    uint64_t stream, number;
    uint64_t age;  ///< counts up, over all streams
    What what;
  };

  bool empty() const { return streams_.empty(); }
  void clear() { streams_.clear(); }

  /// Behind all others of the stream: its number is none that is less than theirs.
  void add(uint64_t stream, uint64_t number, What what) {
    streams_[stream].push_back({stream, number, ++age_, std::move(what)});
  }

  /// Calls `look` with each entry but those that come before, a stream's in order. Returns how many were looked at.
  template <class Look>
  size_t each_but(const StreamCounts& before, const Look& look) const {
    size_t looks = 0;
    for (const auto& [stream, entries] : streams_) {
      auto first = entries.end();
      while (first != entries.begin() && (++looks, !is_before(*std::prev(first), before))) --first;
      for (; first != entries.end(); ++first) look(*first);
    }
    return looks;
  }

  /// Removes those that come before, and calls `removed` with each. Returns how many were looked at.
  template <class Removed>
  size_t remove(const StreamCounts& before, const Removed& removed) {
    size_t looks = 0;
    for (auto stream = streams_.begin(); stream != streams_.end();) {
      auto& entries = stream->second;
      while (!entries.empty() && (++looks, is_before(entries.front(), before))) pop(entries, removed);
      stream = entries.empty() ? streams_.erase(stream) : std::next(stream);
    }
    return looks;
  }

  /// Removes the oldest of all streams, of which there is one.
  template <class Removed>
  void remove_oldest(const Removed& removed) {
    auto oldest = streams_.begin();
    for (auto stream = streams_.begin(); stream != streams_.end(); ++stream) {
      if (stream->second.front().age < oldest->second.front().age) oldest = stream;
    }
    pop(oldest->second, removed);
    if (oldest->second.empty()) streams_.erase(oldest);
  }

  /// Calls `look` with every entry.
  template <class Look>
  void each(const Look& look) {
    for (auto& [stream, entries] : streams_) {
      for (Entry& entry : entries) look(entry);
    }
  }

 private:
  static bool is_before(const Entry& entry, const StreamCounts& before) {
    const auto known = before.find(entry.stream);
    return known != before.end() && entry.number <= known->second;
  }

  template <class Removed>
  static void pop(std::deque<Entry>& entries, const Removed& removed) {
    removed(entries.front());
    entries.pop_front();
  }

  std::map<uint64_t, std::deque<Entry>> streams_;  ///< none of them empty
  uint64_t age_ = 0;
};

}  // namespace wave::hip_emulator
