#pragma once

#include <map>
#include <string>

#include "muster/result.h"

namespace muster {

/// A player attribute of matchmaking, which the gems write as the text of an object with one
/// member: {"S":"x"}, {"N":23}, {"SL":["a"]} or {"SDM":{"k":1.5}}. The kinds of matchmaker data
/// (STRING, DOUBLE, STRING_LIST, STRING_DOUBLE_MAP) mean the same.
struct Attribute {
  std::string kind;  ///< S, N, SL or SDM
  Json value;

  /// Reads an attribute. It reports whether the text is one.
  static bool parse(const std::string& text, Attribute& out);
  /// Makes an attribute of a kind in either spelling. It reports whether the value is of the kind.
  static bool make(const std::string& kind, const Json& value, Attribute& out);

  /// As the API of GameLift has it: {"N":23}.
  Json for_api() const;
  /// As the player API has it: 23.
  Json for_player() const { return value; }
  /// As game servers send it: {"AttrType":"DOUBLE","N":23}.
  Json for_server() const;
};

/// Writes attributes in a form, such as &Attribute::for_api. An attribute that is none is an error
/// of kind usage, which names it.
Result<Json> attributes(const std::map<std::string, std::string>& texts, Json (Attribute::*form)() const);

}  // namespace muster
