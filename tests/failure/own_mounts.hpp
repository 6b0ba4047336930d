#pragma once

#include <tests/support/child_process.hpp>
