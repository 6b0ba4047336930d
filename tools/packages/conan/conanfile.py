"""Conan 2 recipe of the library, without the tools: `conan create tools/packages/conan`."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain
from conan.tools.files import copy, load

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


class Chainbase(ConanFile):
    name = "chainbase"
    license = "MIT"
    description = "Shared-memory chain-state database engine"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"archive": [True, False]}
    default_options = {"archive": True}

    def set_version(self):
        cmake = load(self, os.path.join(TREE, "CMakeLists.txt"))
        self.version = re.search(r"project\(chainbase VERSION ([0-9.]+)", cmake).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "pool_allocator/*", "undo/*", "chainbase/*", "archive/*"):
            copy(self, pattern, TREE, self.export_sources_folder)

    def requirements(self):
        # Their headers are included by chainbase's.
        self.requires("boost/[>=1.78 <2]", transitive_headers=True)
        self.requires("openssl/[>=3 <4]")
        self.requires("spdlog/[>=1.10 <2]")
        self.requires("zlib/[>=1.2.11 <2]")
        if self.options.archive:
            self.requires("rocksdb/[>=7.8 <11]", transitive_headers=True)
            self.requires("zstd/[>=1.5 <2]")

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("chainbase runs on Linux, x86-64 and arm64")
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["CHAINBASE_BUILD_ARCHIVE"] = bool(self.options.archive)
        toolchain.cache_variables["CHAINBASE_BUILD_TESTS"] = False
        toolchain.cache_variables["CHAINBASE_BUILD_TOOLS"] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        def component(name, libs, requires):
            self.cpp_info.components[name].libs = libs
            self.cpp_info.components[name].includedirs = ["include/chainbase"]
            self.cpp_info.components[name].requires = requires
            self.cpp_info.components[name].set_property("cmake_target_name", f"chainbase::{name}")

        component("chainbase", ["chainbase_chainbase", "chainbase_undo", "chainbase_pool_allocator"],
                  ["boost::headers", "openssl::crypto", "spdlog::spdlog", "zlib::zlib"])
        self.cpp_info.components["chainbase"].system_libs = ["pthread"]
        if self.options.archive:
            component("archive", ["chainbase_archive"], ["chainbase", "rocksdb::rocksdb"])
            component("feed", ["chainbase_feed"], ["archive"])
            component("offline", ["chainbase_offline"], ["archive", "zstd::zstd"])
