#include "launch/hooks.h"

#include <algorithm>

#include "base/fork_safe.h"

namespace wave {

namespace detail {
constinit std::atomic<uint8_t> watching{0};
}

namespace {

using Hooks = std::vector<std::pair<uint64_t, LaunchHook>>;

struct State {
  Mutex mutex;
  std::shared_ptr<const Hooks> hooks = std::make_shared<Hooks>();  ///< replaced, never changed: launches hold it
  uint64_t next_id = 1;
};

State& state = *new State();  // never destroyed: launches may come from static destructors

std::shared_ptr<const Hooks> current() {
  const std::lock_guard lock(state.mutex);
  return state.hooks;
}

template <class Change>
void change(Change change) {
  const std::lock_guard lock(state.mutex);
  auto hooks = std::make_shared<Hooks>(*state.hooks);
  change(*hooks);
  if (hooks->empty()) {
    detail::watching.fetch_and(static_cast<uint8_t>(~detail::kHooks));
  } else {
    detail::watching.fetch_or(detail::kHooks);
  }
  state.hooks = std::move(hooks);
}

}  // namespace

uint64_t add_hook(LaunchHook hook) {
  uint64_t id = 0;
  change([&](Hooks& hooks) { hooks.emplace_back(id = state.next_id++, std::move(hook)); });
  return id;
}

void remove_hook(uint64_t id) {
  change([&](Hooks& hooks) { std::erase_if(hooks, [&](const auto& hook) { return hook.first == id; }); });
}

void call_enter_hooks(const LaunchEvent& event) {
  const std::shared_ptr<const Hooks> hooks = current();
  for (const auto& [id, hook] : *hooks) {
    if (hook.enter) hook.enter(event);
  }
}

void call_exit_hooks(const LaunchEvent& event) {
  const std::shared_ptr<const Hooks> hooks = current();
  for (const auto& [id, hook] : *hooks) {
    if (hook.exit) hook.exit(event);
  }
}

}  // namespace wave
