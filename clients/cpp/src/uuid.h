#pragma once

#include <string>

namespace muster {

/// A random UUID of version 4 in lower case, with dashes.
std::string new_uuid();

}  // namespace muster
