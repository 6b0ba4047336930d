# Toolchain file: programs for arm64 Linux, with the libraries of CHAINBASE_SYSROOT (arm64_root.sh).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CHAINBASE_SYSROOT)
set(CMAKE_SYSROOT ${CHAINBASE_SYSROOT})
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# CMake looks for Python's headers beside the interpreter, which is of this machine.
set(Python3_INCLUDE_DIR ${CHAINBASE_SYSROOT}/usr/include/python3.11)
