#include "attribute.h"

#include "caller.h"

namespace muster {

namespace {

constexpr struct {
  const char *kind, *name;
  Json::Kind value, item;
} kinds[] = {
    {"S", "STRING", Json::Kind::text, Json::Kind::null},
    {"N", "DOUBLE", Json::Kind::number, Json::Kind::null},
    {"SL", "STRING_LIST", Json::Kind::list, Json::Kind::text},
    {"SDM", "STRING_DOUBLE_MAP", Json::Kind::object, Json::Kind::number},
};

}  // namespace

bool Attribute::make(const std::string& kind, const Json& value, Attribute& out) {
  for (const auto& one : kinds) {
    if (kind != one.kind && kind != one.name) continue;
    if (value.kind() != one.value) return false;
    for (const Json& item : value.items()) {
      if (item.kind() != one.item) return false;
    }
    for (const Json::Member& member : value.members()) {
      if (member.second.kind() != one.item) return false;
    }
    out = {one.kind, value};
    return true;
  }
  return false;
}

bool Attribute::parse(const std::string& text, Attribute& out) {
  Json json;
  return Json::parse(text, json) && json.members().size() == 1 && make(json.members()[0].first, json.members()[0].second, out);
}

Json Attribute::for_api() const { return Json::object().set(kind, value); }

Json Attribute::for_server() const {
  for (const auto& one : kinds) {
    if (kind == one.kind) return Json::object().set("AttrType", Json(one.name)).set(kind, value);
  }
  return Json();
}

Result<Json> attributes(const std::map<std::string, std::string>& texts, Json (Attribute::*form)() const) {
  Result<Json> result;
  result.value = Json::object();
  for (const auto& one : texts) {
    Attribute attribute;
    if (!Attribute::parse(one.second, attribute)) {
      result.error = error_of(Error::Kind::usage, "attribute " + one.first + ": must be an object with one member, such as {\"N\":23}, {\"S\":\"x\"}, {\"SL\":[\"x\"]} or {\"SDM\":{\"x\":1}}");
      return result;
    }
    result.value.set(one.first, (attribute.*form)());
  }
  return result;
}

}  // namespace muster
