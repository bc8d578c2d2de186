// The workgroups of a launch that have had a turn and wait for what others do, and when they go on.
#pragma once

#include <map>
#include <memory>

#include "emulator/workgroup.h"

namespace wave::emulator {

/// What a turn of a workgroup was.
struct TurnResult {
  u64 number = 0;           ///< the workgroup's
  bool is_resumed = false;  ///< of one that waited, or its first one
  u64 spent = 0;            ///< instructions
  bool has_ended = false;   ///< it came to its end
};

/// Decides by what is spent on turns, in instructions, and by what they led to, so that launches repeat. One thread at
/// a time.
class WaitingWorkgroups {
 public:
  using Groups = std::map<u64, std::unique_ptr<Workgroup>>;  // by number

  void add(u64 number, std::unique_ptr<Workgroup> group) { groups_.emplace(number, std::move(group)); }
  bool is_empty() const { return groups_.empty(); }

  /// Whether one goes on before others begin. What it waits for is that earlier ones go on, or that later ones begin:
  /// whether the last one that went on came to its end tells.
  bool is_time_to_resume() const;

  /// Takes out the one that goes on. There must be one.
  Groups::node_type take();

  /// A turn has ended. Of several first ones together: what was spent on all, and whether one has come to its end.
  void note(const TurnResult& turn);

 private:
  Groups::iterator next();

  Groups groups_;
  bool resuming_helps_ = false;                   ///< the last one that went on came to its end
  u64 spent_resuming_ = 0, spent_beginning_ = 0;  ///< instructions since one did
  u64 spent_in_vain_ = 0;                         ///< in the last turn in which none came to an end
  u64 last_ended_ = 0;                            ///< the number of the last one that waited and came to its end
  u64 last_in_turn_ = 0;                          ///< the number of the last one whose turn it was
  bool is_in_turn_ = false;
};

}  // namespace wave::emulator
