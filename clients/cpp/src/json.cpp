#include "muster/json.h"

#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace muster {

namespace {

const Json nothing;

constexpr int most_depth = 64;

// Days from 1970-01-01 to a day of the Gregorian calendar.
std::int64_t days_of(std::int64_t year, int month, int day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// The day of the Gregorian calendar, days after 1970-01-01.
void date_of(std::int64_t days, std::int64_t& year, int& month, int& day) {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const std::int64_t of_era = days - era * 146097;
  const std::int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const std::int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
  const std::int64_t shifted = (5 * of_year + 2) / 153;
  day = static_cast<int>(of_year - (153 * shifted + 2) / 5 + 1);
  month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  year = years + era * 400 + (month <= 2);
}

// Reads digits at text[at...], as many as count.
bool digits(const std::string& text, std::size_t& at, int count, int& out) {
  out = 0;
  for (int i = 0; i < count; i++, at++) {
    if (at >= text.size() || text[at] < '0' || text[at] > '9') return false;
    out = out * 10 + (text[at] - '0');
  }
  return true;
}

bool takes(const std::string& text, std::size_t& at, char c) {
  if (at >= text.size() || text[at] != c) return false;
  at++;
  return true;
}

// Parses RFC 3339.
bool parse_time(const std::string& text, Time& out) {
  std::size_t at = 0;
  int year, month, day, hour, minute, second;
  if (!digits(text, at, 4, year) || !takes(text, at, '-') || !digits(text, at, 2, month) || !takes(text, at, '-') || !digits(text, at, 2, day)) return false;
  if (!takes(text, at, 'T') || !digits(text, at, 2, hour) || !takes(text, at, ':') || !digits(text, at, 2, minute) || !takes(text, at, ':') || !digits(text, at, 2, second)) return false;
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return false;
  std::int64_t micros = 0;
  if (takes(text, at, '.')) {
    for (std::int64_t unit = 100000; at < text.size() && text[at] >= '0' && text[at] <= '9'; at++, unit /= 10) micros += unit * (text[at] - '0');
  }
  std::int64_t offset = 0;
  if (!takes(text, at, 'Z')) {
    int hours, minutes;
    if (at >= text.size() || (text[at] != '+' && text[at] != '-')) return false;
    const int sign = text[at++] == '+' ? 1 : -1;
    if (!digits(text, at, 2, hours) || !takes(text, at, ':') || !digits(text, at, 2, minutes)) return false;
    offset = sign * (hours * 3600 + minutes * 60);
  }
  const std::int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
  out = Time(std::chrono::duration_cast<Time::duration>(std::chrono::microseconds(seconds * 1000000 + micros)));
  return at == text.size();
}

std::string format_time(Time time) {
  const std::int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  std::int64_t seconds = micros / 1000000, rest = micros % 1000000;
  if (rest < 0) {
    rest += 1000000;
    seconds--;
  }
  std::int64_t days = seconds / 86400, of_day = seconds % 86400, year;
  if (of_day < 0) {
    of_day += 86400;
    days--;
  }
  int month, day;
  date_of(days, year, month, day);
  char text[64];
  std::snprintf(text, sizeof text, "%04lld-%02d-%02dT%02d:%02d:%02d.%06dZ", static_cast<long long>(year), month, day,
                static_cast<int>(of_day / 3600), static_cast<int>(of_day / 60 % 60), static_cast<int>(of_day % 60), static_cast<int>(rest));
  return text;
}

// Numbers have a point in JSON, whatever the locale of the game says.
void replace_point(std::string& text, char from, char to) {
  const std::size_t at = text.find(from);
  if (at != std::string::npos) text[at] = to;
}

char locale_point() {
  const lconv* locale = std::localeconv();
  return locale != nullptr && locale->decimal_point != nullptr && locale->decimal_point[0] != 0 ? locale->decimal_point[0] : '.';
}

void quote(const std::string& text, std::string& out) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < ' ') {
          char escape[8];
          std::snprintf(escape, sizeof escape, "\\u%04x", c);
          out += escape;
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

}  // namespace

// JsonReader parses one text (RFC 8259).
class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : text_(text) {}

  bool read(Json& out) {
    if (!value(out, 0)) return false;
    space();
    return at_ == text_.size();
  }

 private:
  bool value(Json& out, int depth) {
    space();
    if (depth > most_depth || at_ >= text_.size()) return false;
    switch (text_[at_]) {
      case '{': return object(out, depth);
      case '[': return list(out, depth);
      case '"': out.kind_ = Json::Kind::text; return string(out.text_);
      case 't': out = Json(true); return word("true");
      case 'f': out = Json(false); return word("false");
      case 'n': out = Json(); return word("null");
      default: return number(out);
    }
  }

  bool object(Json& out, int depth) {
    out = Json::object();
    at_++;
    space();
    if (takes(text_, at_, '}')) return true;
    do {
      out.members_.emplace_back();
      space();
      if (at_ >= text_.size() || text_[at_] != '"' || !string(out.members_.back().first)) return false;
      space();
      if (!takes(text_, at_, ':') || !value(out.members_.back().second, depth + 1)) return false;
      space();
    } while (takes(text_, at_, ','));
    return takes(text_, at_, '}');
  }

  bool list(Json& out, int depth) {
    out = Json::list();
    at_++;
    space();
    if (takes(text_, at_, ']')) return true;
    do {
      out.items_.emplace_back();
      if (!value(out.items_.back(), depth + 1)) return false;
      space();
    } while (takes(text_, at_, ','));
    return takes(text_, at_, ']');
  }

  bool number(Json& out) {
    const std::size_t from = at_;
    takes(text_, at_, '-');
    if (!takes(text_, at_, '0') && !some_digits()) return false;
    if (takes(text_, at_, '.') && !some_digits()) return false;
    if (takes(text_, at_, 'e') || takes(text_, at_, 'E')) {
      if (!takes(text_, at_, '+')) takes(text_, at_, '-');
      if (!some_digits()) return false;
    }
    out.kind_ = Json::Kind::number;
    out.text_ = text_.substr(from, at_ - from);
    return true;
  }

  bool some_digits() {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') at_++;
    return at_ > from;
  }

  bool string(std::string& out) {
    out.clear();
    for (at_++; at_ < text_.size(); at_++) {
      const char c = text_[at_];
      if (c == '"') {
        at_++;
        return true;
      }
      if (static_cast<unsigned char>(c) < ' ') return false;
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    return false;
  }

  bool escape(std::string& out) {
    if (++at_ >= text_.size()) return false;
    switch (text_[at_]) {
      case '"':
      case '\\':
      case '/': out += text_[at_]; return true;
      case 'b': out += '\b'; return true;
      case 'f': out += '\f'; return true;
      case 'n': out += '\n'; return true;
      case 'r': out += '\r'; return true;
      case 't': out += '\t'; return true;
      case 'u': break;
      default: return false;
    }
    std::uint32_t c, low;
    if (!hex(c)) return false;
    if (c >= 0xd800 && c < 0xdc00 && text_.compare(at_ + 1, 2, "\\u") == 0) {
      const std::size_t back = at_;
      at_ += 2;
      if (!hex(low)) return false;
      if (low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + (c - 0xd800) * 0x400 + (low - 0xdc00);
      } else {
        at_ = back;
      }
    }
    append_utf8(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);  // half a pair is no character
    return true;
  }

  // Reads the four digits after text_[at_], and leaves at_ at the last.
  bool hex(std::uint32_t& out) {
    out = 0;
    for (int i = 0; i < 4; i++) {
      if (++at_ >= text_.size()) return false;
      const char c = text_[at_];
      int digit;
      if (c >= '0' && c <= '9') {
        digit = c - '0';
      } else if (c >= 'a' && c <= 'f') {
        digit = c - 'a' + 10;
      } else if (c >= 'A' && c <= 'F') {
        digit = c - 'A' + 10;
      } else {
        return false;
      }
      out = out * 16 + static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  bool word(const char* word) {
    const std::size_t length = std::strlen(word);
    if (text_.compare(at_, length, word) != 0) return false;
    at_ += length;
    return true;
  }

  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) at_++;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

Json::Json(double value) {
  if (!std::isfinite(value)) return;
  kind_ = Kind::number;
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  text_ = text;
  replace_point(text_, locale_point(), '.');
}

Json::Json(Time value) : kind_(Kind::text), text_(format_time(value)) {}

Json Json::object() {
  Json json;
  json.kind_ = Kind::object;
  return json;
}

Json Json::list() {
  Json json;
  json.kind_ = Kind::list;
  return json;
}

Json& Json::set(const std::string& name, Json value) {
  for (Member& one : members_) {
    if (one.first == name) {
      one.second = std::move(value);
      return *this;
    }
  }
  members_.emplace_back(name, std::move(value));
  return *this;
}

Json& Json::add(Json value) {
  items_.push_back(std::move(value));
  return *this;
}

const Json& Json::operator[](const std::string& name) const {
  for (const Member& one : members_) {
    if (one.first == name) return one.second;
  }
  return nothing;
}

double Json::number() const {
  if (kind_ != Kind::number) return 0;
  std::string text = text_;
  replace_point(text, '.', locale_point());
  return std::strtod(text.c_str(), nullptr);
}

std::int64_t Json::integer() const {
  if (kind_ != Kind::number) return 0;
  if (text_.find_first_of(".eE") == std::string::npos) return std::strtoll(text_.c_str(), nullptr, 10);
  const double value = number();
  return value > -9.2e18 && value < 9.2e18 ? static_cast<std::int64_t>(value) : 0;
}

Time Json::time() const {
  Time time;
  return kind_ == Kind::text && parse_time(text_, time) ? time : Time();
}

bool Json::parse(const std::string& text, Json& out) {
  Json read;
  if (!JsonReader(text).read(read)) return false;
  out = std::move(read);
  return true;
}

std::string Json::write() const {
  std::string out;
  write(out);
  return out;
}

void Json::write(std::string& out) const {
  switch (kind_) {
    case Kind::null: out += "null"; break;
    case Kind::boolean: out += truth_ ? "true" : "false"; break;
    case Kind::number: out += text_; break;
    case Kind::text: quote(text_, out); break;
    case Kind::list:
      out += '[';
      for (std::size_t i = 0; i < items_.size(); i++) {
        if (i > 0) out += ',';
        items_[i].write(out);
      }
      out += ']';
      break;
    case Kind::object:
      out += '{';
      for (std::size_t i = 0; i < members_.size(); i++) {
        if (i > 0) out += ',';
        quote(members_[i].first, out);
        out += ':';
        members_[i].second.write(out);
      }
      out += '}';
      break;
  }
}

}  // namespace muster
