// hip_emulator/stream_history: the same operations as in a list that is read whole, and how few of them are looked at.

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <random>
#include <vector>

#include "hip_emulator/stream_history.h"

namespace {

using wave::hip_emulator::StreamCounts;
using wave::hip_emulator::StreamHistory;

int failures = 0;

void expect(bool is_so, const char* what) {
  if (is_so) return;
  std::printf("%s\n", what);
  ++failures;
}

struct Operation {
  uint64_t stream, number;
  int name;
};

// All operations in one list.
struct Model {
  std::vector<Operation> operations;

  static bool is_before(const Operation& operation, const StreamCounts& before) {
    const auto known = before.find(operation.stream);
    return known != before.end() && operation.number <= known->second;
  }
  std::vector<int> names_but(const StreamCounts& before) const {
    std::vector<int> names;
    for (const Operation& operation : operations) {
      if (!is_before(operation, before)) names.push_back(operation.name);
    }
    return names;
  }
  std::vector<int> remove(const StreamCounts& before) {
    const auto kept = std::stable_partition(operations.begin(), operations.end(),
                                            [&](const Operation& operation) { return is_before(operation, before); });
    std::vector<int> names;
    for (auto gone = operations.begin(); gone != kept; ++gone) names.push_back(gone->name);
    operations.erase(operations.begin(), kept);
    return names;
  }
};

std::vector<int> sorted(std::vector<int> names) {
  std::sort(names.begin(), names.end());
  return names;
}

void does_what_a_list_does() {
  std::mt19937 random(1);
  const auto below = [&](uint64_t end) { return random() % end; };
  StreamHistory<int> history;
  Model model;
  StreamCounts submitted;
  for (int step = 0; step < 20'000; ++step) {
    std::vector<int> names;
    const auto name = [&](const auto& entry) { names.push_back(entry.what); };
    StreamCounts before;  // some streams are not known at all
    for (const auto& [stream, count] : submitted) {
      if (below(4) != 0) before[stream] = below(count + 2);
    }
    const uint64_t choice = below(8);
    if (choice == 0 && !history.empty()) {
      history.remove_oldest(name);
      expect(names == std::vector<int>{model.operations.front().name}, "the oldest is another one");
      model.operations.erase(model.operations.begin());
    } else if (choice == 1 && below(4) == 0) {
      history.remove(before, name);
      expect(sorted(names) == model.remove(before), "others are removed");
    } else if (choice < 4) {
      history.each_but(before, name);
      expect(sorted(names) == model.names_but(before), "others are left over");
    } else {
      const uint64_t stream = below(5);
      const uint64_t number = submitted[stream] += below(3);  // a graph adds several of one number
      history.add(stream, number, step);
      model.operations.push_back({stream, number, step});
    }
    expect(history.empty() == model.operations.empty(), "only one of the two is empty");
  }
  std::vector<int> names;
  history.each([&](const auto& entry) { names.push_back(entry.what); });
  expect(sorted(names) == model.names_but({}), "not each is there");
}

// Of each stream it looks at the entries that it gives out, and at one more.
void looks_at_few() {
  constexpr uint64_t kStreams = 4;
  StreamHistory<int> history;
  StreamCounts done;
  size_t looks = 0, given = 0;
  for (int step = 0; step < 10'000; ++step) {
    const uint64_t stream = step % kStreams;
    looks += history.each_but(done, [&](const auto&) { ++given; });
    history.add(stream, step / kStreams + 1, step);
    if (stream != 1) done[stream] = step / kStreams + 1;
    if (step % 1'000 == 999) done[1] = step / kStreams + 1;
  }
  expect(given > 0 && looks <= given + kStreams * 10'000, "it looks at entries that come before");

  size_t removed = 0;
  looks = history.remove({{0, 100}}, [&](const auto&) { ++removed; });
  expect(removed == 100 && looks == 100 + kStreams, "it looks at more than what it removes");
}

}  // namespace

int main() {
  does_what_a_list_does();
  looks_at_few();
  return failures == 0 ? 0 : 1;
}
