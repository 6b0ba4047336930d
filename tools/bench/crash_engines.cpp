#include <tools/bench/crash_engine.hpp>

namespace chainbase::bench {

namespace {

const crash_engine_entry every_crash_engine[] = {
    {"chainbase", open_chainbase, lose_chainbase_memory},
    {"chainbase_process", open_chainbase_process, nullptr},
    {"chainbase_commit", open_chainbase_commit, lose_chainbase_memory},
    {"chainbase_synced", open_chainbase_synced, lose_chainbase_memory},
    {"lmdb_sync", open_lmdb_sync, nullptr},
    {"lmdb_nosync", open_lmdb_nosync, nullptr},
    {"rocksdb_sync", open_rocksdb_sync, nullptr},
    {"rocksdb_nosync", open_rocksdb_nosync, nullptr},
    {"sqlite_full", open_sqlite_full, nullptr},
    {"sqlite_normal", open_sqlite_normal, nullptr},
};

} // namespace

std::span<const crash_engine_entry> crash_engines() noexcept {
    return every_crash_engine;
}

const crash_engine_entry* find_crash_engine(std::string_view name) noexcept {
    for (const crash_engine_entry& entry : every_crash_engine)
        if (entry.name == name) return &entry;
    return nullptr;
}

} // namespace chainbase::bench
