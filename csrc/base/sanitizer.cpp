#include "base/sanitizer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <system_error>
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
const Variable& kLogOfFindings = at_load("WAVE_RUNTIME_SANITIZE_LOG");

Sessions<Sanitizer>& sanitizer_sessions = *new Sessions<Sanitizer>;
Lazy<std::shared_ptr<Sanitizer>>& of_environment = *new Lazy<std::shared_ptr<Sanitizer>>;

SanitizerOptions options_of_environment() {
  SanitizerOptions options{.tools = parse_tools(kTools.text),
                           .over_reads = kOverReads.flag(),
                           .denormals = kDenormals.flag(),
                           .dead_registers = kDeadRegisters.flag(),
                           .keeps = false,
                           .log = kLogOfFindings.text};
  if (options.tools != 0) return options;
  std::string names;
  for (const std::string_view name : tool_names()) names += text(name, ", ");
  kTools.refuse(text("tools with commas between them, of ", names, "or all"), "memory,races");
}

int telling = 0;  // the process that has told something; children that it forks have told nothing

void tell_how_much() {
  if (getpid() != telling) return;
  OutputFile errors("stderr", "-", OutputFile::Mode::Append);
  errors.write((*of_environment.find())->summary());
}

}  // namespace

std::shared_ptr<Sanitizer> Sanitizer::active() {
  if (std::shared_ptr<Sanitizer> begun = sanitizer_sessions.active()) return begun;
  if (!kTools.is_set()) return nullptr;
  return of_environment.get([] { return std::make_shared<Sanitizer>(options_of_environment()); });
}

void Sanitizer::begin(std::shared_ptr<Sanitizer> sanitizer) { sanitizer_sessions.begin(std::move(sanitizer)); }
void Sanitizer::end(const Sanitizer& sanitizer) { sanitizer_sessions.end(sanitizer); }

void Sanitizer::add(const std::vector<Finding>& findings) {
  if (findings.empty()) return;
  const std::lock_guard lock(mutex_);
  if (options.keeps) {
    std::ranges::transform(findings, std::back_inserter(found_), finding_json);
  } else {
    write(findings);
  }
}

/// To the log, or to stderr where there is none or it takes nothing: a launch does not fail for what was found in it.
void Sanitizer::write(const std::vector<Finding>& findings) {
  if (options.log.empty()) return tell(findings);
  try {
    write_to_log(findings);
  } catch (const RuntimeError& error) {
    OutputFile errors("stderr", "-", OutputFile::Mode::Append);
    errors.write(text("wave_runtime: ", error.what(), ": so what was found follows here\n"));
    errors.close();
    tell(findings);
  }
}

/// A program's loop launches the same mistake again and again: it is told once, and counted.
void Sanitizer::tell(const std::vector<Finding>& findings) {
  if (std::exchange(telling, getpid()) == 0) std::atexit(tell_how_much);
  OutputFile errors("stderr", "-", OutputFile::Mode::Append);
  for (const Finding& finding : findings) {
    seen_ += finding.count;
    if (told_.insert(finding_key(finding)).second) errors.write(finding_text(finding) + "\n");
  }
  errors.close();
}

std::string Sanitizer::summary() {
  const std::lock_guard lock(mutex_);
  if (told_.empty()) return {};
  std::string tools;
  for (size_t i = 0; i < tool_names().size(); ++i) {
    if (options.tools >> i & 1) tools += text(tools.empty() ? "" : ", ", tool_names()[i]);
  }
  return text("wave_runtime.sanitize (", tools, "): ", told_.size(), told_.size() == 1 ? " finding" : " findings",
              ", seen ", seen_, seen_ == 1 ? " time\n" : " times\n");
}

void Sanitizer::write_to_log(const std::vector<Finding>& findings) const {
  std::error_code error;  // what is wrong with the folder the file tells
  std::filesystem::create_directories(options.log, error);
  OutputFile file("WAVE_RUNTIME_SANITIZE_LOG", text(options.log, "/", getpid(), ".jsonl"), OutputFile::Mode::Append);
  for (const Finding& finding : findings) file.write(finding_json(finding) + "\n");
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
