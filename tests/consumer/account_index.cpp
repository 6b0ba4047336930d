#include "account_index.hpp"

template class chainbase::object_index<account>;
