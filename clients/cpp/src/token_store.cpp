#include "muster/token_store.h"

#include <cstdio>

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

namespace muster {

namespace {

// Opens a new file for writing, for the user alone.
std::FILE* create(const std::string& path) {
#ifdef _WIN32
  return std::fopen(path.c_str(), "wb");
#else
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  return file < 0 ? nullptr : fdopen(file, "wb");
#endif
}

// Writes what has been buffered to the disk.
bool flush(std::FILE* file) {
  if (std::fflush(file) != 0) return false;
#ifdef _WIN32
  return true;
#else
  return fsync(fileno(file)) == 0;
#endif
}

}  // namespace

bool FileTokenStore::load(std::string& text) {
  text.clear();
  std::FILE* file = std::fopen(path_.c_str(), "rb");
  if (file == nullptr) return true;  // there is no login yet
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, count);
  const bool ok = std::ferror(file) == 0;
  std::fclose(file);
  return ok;
}

bool FileTokenStore::save(const std::string& text) {
  const std::string next = path_ + ".new";
  std::FILE* file = create(next);
  if (file == nullptr) return false;
  bool ok = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  ok = flush(file) && ok;
  ok = std::fclose(file) == 0 && ok;
#ifdef _WIN32
  if (ok) std::remove(path_.c_str());  // rename replaces no file there
#endif
  return ok && std::rename(next.c_str(), path_.c_str()) == 0;
}

}  // namespace muster
