#pragma once

#include <undo/fwd.hpp>

namespace chainbase {

class database;
class segment;
class catalogue;
template <typename T>
struct id;
template <typename T>
class object_index;

} // namespace chainbase
