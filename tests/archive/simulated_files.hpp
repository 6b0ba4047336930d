#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace chainbase::test {

/// Real files below RocksDB, of which it is known at any time what a loss of power would leave:
///
///  - of a file what was synced, and of what was appended since as much as chance has it;
///  - of names (files that were made, renamed, linked or deleted) those before the last sync of
///    their folder, and of the later ones the first few, as many as chance has it, in their order.
///
/// All files below it are made through it. Thread-safe.
class simulated_files final : public rocksdb::FileSystemWrapper {
public:
    /// Some number below the limit.
    using chance = std::function<std::uint64_t(std::uint64_t limit)>;

    /// `shadows`: a folder on the same file system, for the contents of files that lost their name.
    explicit simulated_files(std::filesystem::path shadows);

    [[nodiscard]] const char* Name() const override { return "simulated_files"; }

    /// Calls before(number) before each change of the disk, counted from 0, with no change of
    /// another thread under way.
    void watch(std::function<void(std::uint64_t)> before) {
        const std::lock_guard alone(changing_);
        before_ = std::move(before);
    }

    /// Makes in `to` what a loss of power would leave now of the files below `folder`. Only to be
    /// called from the watching function.
    void copy_after_power_loss(const std::filesystem::path& folder, const std::filesystem::path& to,
                               const chance& below) const;

    rocksdb::IOStatus NewWritableFile(const std::string& file, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus ReuseWritableFile(const std::string& file, const std::string& old,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result,
                                        rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus ReopenWritableFile(const std::string& file,
                                         const rocksdb::FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* result,
                                         rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus NewDirectory(const std::string& folder, const rocksdb::IOOptions& options,
                                   std::unique_ptr<rocksdb::FSDirectory>* result,
                                   rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus DeleteFile(const std::string& file, const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                                 const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

private:
    class written_file;
    class synced_folder;

    /// A file whatever its names are; its bytes are in the folder of shadows, too.
    struct content {
        std::filesystem::path shadow;
        std::uint64_t bytes = 0;
        std::uint64_t synced = 0;
    };
    using content_ptr = std::shared_ptr<content>;
    /// `name` becomes that of `target`, or of nothing.
    struct renaming {
        std::string name;
        content_ptr target;
        bool goes_with_next = false;
    };
    using names = std::map<std::string, content_ptr>;

    /// A change of the disk, alone.
    template <typename Change>
    rocksdb::IOStatus change(Change&& work);
    [[nodiscard]] content_ptr add(const std::string& file);
    void set(const std::string& name, content_ptr target, bool goes_with_next = false);
    void sync_names(const std::string& folder);

    std::filesystem::path shadows_;
    std::function<void(std::uint64_t)> before_;
    std::mutex changing_;
    std::uint64_t changes_ = 0;
    names now_;
    names synced_;
    std::vector<renaming> since_; ///< in their order
};

} // namespace chainbase::test
