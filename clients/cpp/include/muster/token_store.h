#pragma once

#include <string>

namespace muster {

/// Keeps a player's login across restarts of the game, as a text that only the game may read. It
/// is called in the client's network thread, not concurrently.
class TokenStore {
 public:
  virtual ~TokenStore() = default;
  /// Sets text to what was saved last, or leaves it empty. It reports whether that worked.
  virtual bool load(std::string& text) = 0;
  /// Saves a text, and reports whether that worked. A login that is not saved is lost with the
  /// game's process.
  virtual bool save(const std::string& text) = 0;
};

/// Keeps a login in memory.
class MemoryTokenStore : public TokenStore {
 public:
  bool load(std::string& text) override {
    text = text_;
    return true;
  }
  bool save(const std::string& text) override {
    text_ = text;
    return true;
  }

 private:
  std::string text_;
};

/// Keeps a login in a file that only the user may read, and which is replaced as a whole.
class FileTokenStore : public TokenStore {
 public:
  /// The folder of the path must exist.
  explicit FileTokenStore(std::string path) : path_(std::move(path)) {}
  bool load(std::string& text) override;
  bool save(const std::string& text) override;

 private:
  const std::string path_;
};

}  // namespace muster
