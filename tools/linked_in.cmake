# chainbase_link_in(TARGET): links an executable statically except for the C library, at a fixed
# address: loading and relocating would take longer than a short verb runs, and touch a hundred more
# pages. The archive reads the property CHAINBASE_LINKED_IN of its users for RocksDB and OpenSSL;
# fmt and spdlog have no static libraries, so their sources are compiled into the target. A missing
# static library stays shared, and so do all with sanitizers.

set(CHAINBASE_MISSING_LIBRARIES)
add_library(chainbase_rocksdb_linked_in INTERFACE)
add_library(chainbase_crypto_linked_in INTERFACE)
add_library(chainbase_curses_linked_in INTERFACE)
add_library(chainbase_tar_linked_in INTERFACE)

# Adds static libraries to those that `target` stands for.
function(chainbase_link_static target)
    foreach(name IN LISTS ARGN)
        find_library(CHAINBASE_STATIC_${name} lib${name}.a)
        mark_as_advanced(CHAINBASE_STATIC_${name})
        if(CHAINBASE_STATIC_${name})
            target_link_libraries(${target} INTERFACE ${CHAINBASE_STATIC_${name}})
        else()
            list(APPEND CHAINBASE_MISSING_LIBRARIES lib${name}.a)
        endif()
    endforeach()
    set(CHAINBASE_MISSING_LIBRARIES ${CHAINBASE_MISSING_LIBRARIES} PARENT_SCOPE)
endfunction()
chainbase_link_static(chainbase_rocksdb_linked_in rocksdb snappy z bz2 lz4 zstd)
chainbase_link_static(chainbase_crypto_linked_in crypto)
chainbase_link_static(chainbase_curses_linked_in ncursesw tinfo)
chainbase_link_static(chainbase_tar_linked_in archive)
foreach(name fmt/format spdlog/spdlog)
    find_file(CHAINBASE_SOURCE_${name} ${name}-inl.h)
    mark_as_advanced(CHAINBASE_SOURCE_${name})
    if(NOT CHAINBASE_SOURCE_${name})
        list(APPEND CHAINBASE_MISSING_LIBRARIES ${name}-inl.h)
    endif()
endforeach()

function(chainbase_link_in target)
    if(CMAKE_CXX_FLAGS MATCHES "-fsanitize" OR NOT CHAINBASE_LINK_IN)
        return()
    endif()
    if(CHAINBASE_MISSING_LIBRARIES)
        message(STATUS "${target} starts slower, with shared libraries: "
                       "${CHAINBASE_MISSING_LIBRARIES} are missing")
        return()
    endif()
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tools/fmt_library.cpp
                                     ${PROJECT_SOURCE_DIR}/tools/spdlog_library.cpp)
    target_link_libraries(${target} PRIVATE fmt::fmt spdlog::spdlog)
    set_target_properties(${target} PROPERTIES CHAINBASE_LINKED_IN ON)
    target_link_options(${target} PRIVATE
        -no-pie -static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections)
endfunction()
