# The tree that has this port, or a copy of the port beside an unpacked source archive
# (CHAINBASE_SOURCE in the environment).
if(DEFINED ENV{CHAINBASE_SOURCE})
    set(SOURCE_PATH $ENV{CHAINBASE_SOURCE})
else()
    get_filename_component(SOURCE_PATH ${CMAKE_CURRENT_LIST_DIR}/../../../.. ABSOLUTE)
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES archive CHAINBASE_BUILD_ARCHIVE)
vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH}
    OPTIONS ${options} -DCHAINBASE_BUILD_TESTS=OFF -DCHAINBASE_BUILD_TOOLS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/chainbase)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/debug/include)
vcpkg_install_copyright(FILE_LIST ${SOURCE_PATH}/LICENSE)
