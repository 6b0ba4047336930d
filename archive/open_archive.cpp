#include <archive/memory_store.hpp>
#include <archive/open_archive.hpp>
#include <archive/rocksdb/store.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <array>
#include <string>

namespace chainbase::archive {
namespace {

struct no_rows final : row_cursor_source {
    bool valid() const override { return false; }
    std::uint32_t id() const override { return 0; }
    bytes_view record() const override { return {}; }
    bytes_view stored() const override { return {}; }
    void next() override {}
};

struct no_keys final : key_cursor_source {
    bool valid() const override { return false; }
    bytes_view key() const override { return {}; }
    std::uint32_t id() const override { return 0; }
    void next() override {}
};

namespace fs = std::filesystem;

/// An interrupted creation leaves at most a part of `format`.
void require_new(const fs::path& folder) {
    if (!fs::exists(folder)) return;
    for (const auto& entry : fs::directory_iterator(folder))
        if (!entry.path().filename().string().starts_with("format"))
            throw format_error(folder.string() + ": holds " + entry.path().filename().string() +
                               " and no file \"format\", so it is not an archive. Nothing in it "
                               "was changed; put the archive of this state there, or move the "
                               "folder away");
}

void mark(const fs::path& folder, store_kind kind) {
    require_new(folder);
    private_folder::make_within(folder);
    sync_folder((folder / "").parent_path().parent_path());
    replace_file(folder / "format", format_of(kind));
}

bool is_made(const fs::path& folder) {
    return fs::exists(folder / "format");
}

std::unique_ptr<store> open_as(store_kind kind, database& state, const fs::path& folder,
                               const store_options& options) {
    switch (kind) {
    case store_kind::memory:
        return std::make_unique<memory_store>(state);
    case store_kind::none:
        return std::make_unique<none_store>();
    case store_kind::rocksdb:
        break;
    }
    return std::make_unique<rocksdb_store>(folder, options);
}

} // namespace

std::unique_ptr<store> open_store(const fs::path& folder, const store_options& options) {
    return std::make_unique<rocksdb_store>(folder, options);
}

store::write_totals none_store::apply(const write_batch& batch) {
    throw usage_error(name() + ": a store of kind none keeps no rows, and the batch has " +
                      std::to_string(batch.size()) + "; leave the objects in memory");
}

std::unique_ptr<row_cursor_source> none_store::scan(table_id, std::uint32_t) const {
    return std::make_unique<no_rows>();
}

std::unique_ptr<key_cursor_source> none_store::scan(table_id, std::uint32_t, bytes_view) const {
    return std::make_unique<no_keys>();
}

std::string format_of(store_kind kind) {
    return "chainbase archive\nstore " + std::string(to_string(kind)) + "\n";
}

std::optional<store_kind> kind_of(const fs::path& folder) {
    if (!is_made(folder)) return std::nullopt;
    const std::string format = read_file(folder / "format");
    for (const store_kind kind : {store_kind::memory, store_kind::none})
        if (format == format_of(kind)) return kind;
    return store_kind::rocksdb; // which knows its versions
}

std::unique_ptr<store> open_archive(database& state, const fs::path& folder,
                                    std::optional<store_kind> kind, const store_options& options) {
    const std::optional<store_kind> made = kind_of(folder);
    if (made && kind && *made != *kind)
        throw usage_error(folder.string() + ": was made as `" + std::string(to_string(*made)) +
                          "`, but `" + std::string(to_string(*kind)) +
                          "` was asked for; open it as the kind that it is, or convert it "
                          "(chainbase-driver convert-archive)");
    const store_kind now = made.value_or(kind.value_or(store_kind::rocksdb));
    if (!made && !options.read_only && now != store_kind::rocksdb) mark(folder, now);
    std::unique_ptr<store> opened = open_as(now, state, folder, options);
    if (!options.read_only) {
        opened->publish_statistics(folder);
        opened->sync_before_checkpoints_of(state);
    }
    return opened;
}

} // namespace chainbase::archive
