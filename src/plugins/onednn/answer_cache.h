// What was found out about problems, kept by a routine and so as long as its net: asking the
// library takes a while, and layers pose the same problem.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/error.h"

namespace softneuro::onednn {

// What `ask` answers; Value() if it or the library fails.
template <class Value, class Ask>
Value or_none(Ask&& ask) {
  Result<Value> answer = guarded([&]() -> Result<Value> { return ask(); });
  return answer.ok() ? *std::move(answer) : Value();
}

// Thread safe. A full cache is emptied.
template <class Value>
class AnswerCache {
 public:
  using Entry = std::shared_ptr<const Value>;

  // The value of `key`; `make` gives a pointer to it where there is none yet.
  template <class Make>
  Entry get(const std::string& key, Make&& make) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (const auto found = entries_.find(key); found != entries_.end()) return found->second;
    }
    Entry entry = make();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (entries_.size() >= kMostEntries) entries_.clear();
    return entries_.emplace(key, std::move(entry)).first->second;
  }

 private:
  static constexpr std::size_t kMostEntries = 4096;

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace softneuro::onednn
