#include "base/sanitizer.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/environment.h"
#include "base/error.h"
#include "base/output_file.h"
#include "base/sessions.h"

namespace wave {

namespace {

const Variable& kTools = at_load("WAVE_RUNTIME_SANITIZE");
const Variable& kOverReads = at_load("WAVE_RUNTIME_SANITIZE_OVER_READS");
const Variable& kDenormals = at_load("WAVE_RUNTIME_SANITIZE_DENORMALS");
const Variable& kDeadRegisters = at_load("WAVE_RUNTIME_SANITIZE_DEAD_REGISTERS");
const Variable& kLog = at_load("WAVE_RUNTIME_SANITIZE_LOG");

Sessions<Sanitizer>& sessions = *new Sessions<Sanitizer>;
Lazy<std::shared_ptr<Sanitizer>>& of_environment = *new Lazy<std::shared_ptr<Sanitizer>>;

SanitizerOptions options_of_environment() {
  SanitizerOptions options{.tools = parse_tools(kTools.text),
                           .over_reads = kOverReads.flag(),
                           .denormals = kDenormals.flag(),
                           .dead_registers = kDeadRegisters.flag(),
                           .keeps = false,
                           .log = kLog.text};
  if (options.tools != 0) return options;
  std::string names;
  for (const std::string_view name : tool_names()) names += text(name, ", ");
  kTools.refuse(text("tools with commas between them, of ", names, "or all"), "memory,races");
}

}  // namespace

std::shared_ptr<Sanitizer> Sanitizer::active() {
  if (std::shared_ptr<Sanitizer> begun = sessions.active()) return begun;
  if (!kTools.is_set()) return nullptr;
  return of_environment.get([] { return std::make_shared<Sanitizer>(options_of_environment()); });
}

void Sanitizer::begin(std::shared_ptr<Sanitizer> sanitizer) { sessions.begin(std::move(sanitizer)); }
void Sanitizer::end(const Sanitizer& sanitizer) { sessions.end(sanitizer); }

void Sanitizer::add(const std::vector<Finding>& findings) {
  if (findings.empty()) return;
  const std::lock_guard lock(mutex_);
  if (options.keeps) {
    std::ranges::transform(findings, std::back_inserter(found_), finding_json);
  } else {
    write(findings);
  }
}

void Sanitizer::write(const std::vector<Finding>& findings) const {
  const bool logs = !options.log.empty();
  const std::string path = logs ? text(options.log, "/", getpid(), ".jsonl") : "-";
  OutputFile file("WAVE_RUNTIME_SANITIZE_LOG", path, OutputFile::Mode::Append);
  for (const Finding& finding : findings) file.write((logs ? finding_json(finding) : finding_text(finding)) + "\n");
  file.close();
}

std::vector<std::string> Sanitizer::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, {});
}

bool Sanitizer::has_some() {
  const std::lock_guard lock(mutex_);
  return !found_.empty();
}

}  // namespace wave
