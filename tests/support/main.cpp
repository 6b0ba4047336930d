#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <cstdlib>

// What tests put into the folder of a state must be as private as the state's own files.
[[maybe_unused]] static const mode_t mask_before = umask(077);
// The folders of tests go away, and segments of their states in memory would stay.
[[maybe_unused]] static const int in_state_folder =
    setenv("CHAINBASE_MEMORY_FOLDER", "none", /*overwrite=*/0);
