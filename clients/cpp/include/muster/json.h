#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// A time.
using Time = std::chrono::system_clock::time_point;

/// A JSON value. Its readers return something empty where it is of another kind, so that a newer
/// server does no harm.
class Json {
 public:
  enum class Kind { null, boolean, number, text, list, object };
  using Member = std::pair<std::string, Json>;

  Json() = default;  ///< null
  explicit Json(bool value) : kind_(Kind::boolean), truth_(value) {}
  explicit Json(std::int64_t value) : kind_(Kind::number), text_(std::to_string(value)) {}
  explicit Json(double value);  ///< null if it is not finite
  explicit Json(std::string value) : kind_(Kind::text), text_(std::move(value)) {}
  explicit Json(const char* value) : kind_(Kind::text), text_(value) {}
  explicit Json(Time value);  ///< as text, RFC 3339 in UTC

  /// An object without members.
  static Json object();
  /// A list without items.
  static Json list();

  template <typename T, typename F>
  static Json list(const std::vector<T>& values, F convert) {
    Json json = list();
    for (const T& value : values) json.items_.push_back(convert(value));
    return json;
  }

  template <typename T, typename F>
  static Json map(const std::map<std::string, T>& values, F convert) {
    Json json = object();
    for (const auto& one : values) json.set(one.first, convert(one.second));
    return json;
  }

  /// Adds a member to an object, or replaces it, and returns the object.
  Json& set(const std::string& name, Json value);
  /// Adds an item to a list.
  Json& add(Json value);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_object() const { return kind_ == Kind::object; }

  /// A member of an object; null if there is none.
  const Json& operator[](const std::string& name) const;
  const std::vector<Member>& members() const { return members_; }
  const std::vector<Json>& items() const { return items_; }

  bool boolean() const { return kind_ == Kind::boolean && truth_; }
  double number() const;
  std::int64_t integer() const;
  std::string text() const { return kind_ == Kind::text ? text_ : std::string(); }
  Time time() const;

  template <typename T, typename F>
  std::vector<T> list(F convert) const {
    std::vector<T> all;
    for (const Json& item : items_) all.push_back(convert(item));
    return all;
  }

  template <typename T, typename F>
  std::map<std::string, T> map(F convert) const {
    std::map<std::string, T> all;
    for (const Member& one : members_) all[one.first] = convert(one.second);
    return all;
  }

  /// Parses a text. It reports whether that is JSON; out is unchanged if it is not.
  static bool parse(const std::string& text, Json& out);

  /// Writes it on one line.
  std::string write() const;

 private:
  friend class JsonReader;
  void write(std::string& out) const;

  Kind kind_ = Kind::null;
  bool truth_ = false;
  std::string text_;  // of text, and of a number as it was written
  std::vector<Json> items_;
  std::vector<Member> members_;
};

}  // namespace muster
