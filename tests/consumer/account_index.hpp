#pragma once

#include "account.hpp"

// Compiled once in account_index.cpp instead of by every source.
extern template class chainbase::object_index<account>;
