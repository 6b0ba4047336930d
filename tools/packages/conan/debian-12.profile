# What chainbase requires is that of Debian 12 (tools/setup.sh), not built by Conan.
[settings]
os=Linux
arch=x86_64
compiler=gcc
compiler.version=12
compiler.libcxx=libstdc++11
compiler.cppstd=20
build_type=Release

[platform_requires]
boost/1.81.0
openssl/3.0.17
spdlog/1.10.0
zlib/1.2.13
rocksdb/7.8.3
zstd/1.5.4
