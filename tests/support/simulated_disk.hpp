#pragma once

#include <chainbase/checkpoint/disk.hpp>

#include <tests/support/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::test {

/// A disk in memory that can lose power: writes since the last sync of a file may then be there, or
/// missing, or torn between two sectors of 512 bytes, in any order; the same holds for changes of
/// names since the last sync of their folder.
///
/// A failed sync drops the data to be synced, though reads still return it, and no later sync
/// restores it, as in Linux; optionally it did work. Thread-safe.
class simulated_disk final : public disk {
public:
    enum class call {
        open,
        write,
        read,
        sync,
        reserve,
        resize,
        rename,
        remove,
        make_folder,
        sync_folder,
        sync_file_system
    };

    simulated_disk() = default;
    /// Copies the other disk's current content, durable or not, without open files and without the
    /// hook.
    simulated_disk(const simulated_disk& other);
    simulated_disk& operator=(const simulated_disk&) = delete;

    /// Called before each call about a file; what it throws is the call's failure. A
    /// write that fails may have written a part, `part_of_a_failed_write` bytes.
    std::function<void(call, const std::filesystem::path&)> before;
    std::size_t part_of_a_failed_write = 0;
    bool failed_sync_works = false; ///< a failed sync wrote everything, unnoticed

    /// Keeps or loses everything that is not durable, at random. Requires that no file is open.
    void lose_power(random_source& random);
    /// Flips a bit of a file, durably.
    void flip(const std::filesystem::path& file, std::uint64_t bit);
    [[nodiscard]] std::map<std::filesystem::path, std::uint64_t> sizes() const;

    [[nodiscard]] std::unique_ptr<disk_file> open(const std::filesystem::path& file,
                                                  mode how) override;
    [[nodiscard]] bool exists(const std::filesystem::path& file) override;
    std::vector<std::string> names_in(const std::filesystem::path& folder) override;
    void rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
    void remove(const std::filesystem::path& file) override;
    void make_folder(const std::filesystem::path& folder) override;
    void sync_folder(const std::filesystem::path& folder) override;
    void sync_file_system(const std::filesystem::path& folder) override;

private:
    using content = std::vector<std::byte>;
    /// A write, or with no data a change of length.
    struct change {
        std::uint64_t at;
        content data;
        bool is_resize;
    };
    struct inode {
        content seen; ///< by the process
        content durable;
        std::vector<change> pending; ///< seen, but not durable yet
    };
    class open_file;
    using names = std::map<std::filesystem::path, std::shared_ptr<inode>>;

    void reached(call which, const std::filesystem::path& file) const {
        if (before) before(which, file);
    }
    static void apply(content& to, const change& one);
    static void apply_torn(content& to, const change& one, random_source& random);

    mutable std::mutex mutex_;
    names seen_;
    names durable_;
};

} // namespace chainbase::test
