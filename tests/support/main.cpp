#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include <sys/stat.h>

// What tests put into the folder of a state must be as private as the state's own files.
[[maybe_unused]] static const mode_t mask_before = umask(077);
