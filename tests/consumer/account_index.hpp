#pragma once

#include "account.hpp"

// What works on all accounts is compiled once, in account_index.cpp, and not by every source.
extern template class chainbase::object_index<account>;
