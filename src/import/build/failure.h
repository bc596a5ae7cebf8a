// Errors of a node that is imported.
#pragma once

#include <utility>

#include "core/base/error.h"

namespace softneuro::build {

// Errors stick: the first one is kept, later calls do nothing harmful and give fallbacks, so that
// handlers read like descriptions and the importer asks once, after the handler, how it went.
class Failure {
 public:
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  // The failure is for want of knowledge about an input, not for what the node is.
  bool lacks_knowledge() const { return lacks_knowledge_; }
  void fail(Status status, bool lacks_knowledge = false) {
    if (failed()) return;
    status_ = std::move(status);
    lacks_knowledge_ = lacks_knowledge;
  }
  template <class... A>
  void refuse(fmt::format_string<A...> format, A&&... args) {
    fail(unsupported(format, std::forward<A>(args)...));
  }
  template <class... A>
  void reject(fmt::format_string<A...> format, A&&... args) {
    fail(invalid_model(format, std::forward<A>(args)...));
  }
  // The value; an empty one if there is none, which is an error.
  template <class T>
  T take(Result<T> result) {
    if (result.ok()) return *std::move(result);
    fail(result.status());
    return T{};
  }

 private:
  Status status_;
  bool lacks_knowledge_ = false;
};

}  // namespace softneuro::build
