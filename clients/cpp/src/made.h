#pragma once

#include <utility>

#include "muster/result.h"

namespace muster {

/// Returns a result without a value.
template <typename T>
Result<T> failed(Error error) {
  Result<T> result;
  result.error = std::move(error);
  return result;
}

/// Returns a result with a value.
template <typename T>
Result<T> value_of(T value) {
  Result<T> result;
  result.value = std::move(value);
  return result;
}

}  // namespace muster
