# The sink's rows in PostgreSQL: needs its servers' programs, which a test starts for itself.
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)

chainbase_add_test(sink_postgres
    clusters.cpp
    postgres.cpp
    postgres_binary.cpp
    postgres_failures.cpp
    postgres_history.cpp
    postgres_killed_sink.cpp
    LINK chainbase_test_support chainbase::sink_postgres chainbase::sink_table PkgConfig::libpq
         fmt::fmt)
