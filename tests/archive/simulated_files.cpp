#include <tests/archive/simulated_files.hpp>

#include <algorithm>
#include <utility>

namespace chainbase::test {

namespace fs = std::filesystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

namespace {

fs::path folder_of(const std::string& name) {
    return fs::path(name).parent_path();
}

std::string normal(const std::string& name) {
    return fs::path(name).lexically_normal();
}

} // namespace

template <typename Change>
IOStatus simulated_files::change(Change&& work) {
    const std::lock_guard alone(changing_);
    if (before_) before_(changes_);
    ++changes_;
    return work();
}

class simulated_files::written_file final : public rocksdb::FSWritableFileOwnerWrapper {
public:
    written_file(simulated_files& disk, std::unique_ptr<rocksdb::FSWritableFile> file,
                 content_ptr content)
        : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), content_(std::move(content)) {}

    IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
        return disk_.change([&] {
            return appended(data, FSWritableFileOwnerWrapper::Append(data, options, debug));
        });
    }
    IOStatus Append(const Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo& sum, IODebugContext* debug) override {
        return disk_.change([&] {
            return appended(data, FSWritableFileOwnerWrapper::Append(data, options, sum, debug));
        });
    }
    IOStatus Truncate(std::uint64_t size, const IOOptions& options,
                      IODebugContext* debug) override {
        return disk_.change([&] {
            const IOStatus done = FSWritableFileOwnerWrapper::Truncate(size, options, debug);
            if (done.ok()) content_->bytes = size;
            content_->synced = std::min(content_->synced, content_->bytes);
            return done;
        });
    }
    IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
        return disk_.change(
            [&] { return synced(FSWritableFileOwnerWrapper::Sync(options, debug)); });
    }
    IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
        return disk_.change(
            [&] { return synced(FSWritableFileOwnerWrapper::Fsync(options, debug)); });
    }

private:
    IOStatus appended(const Slice& data, IOStatus done) {
        if (done.ok()) content_->bytes += data.size();
        return done;
    }
    IOStatus synced(IOStatus done) {
        if (done.ok()) content_->synced = content_->bytes;
        return done;
    }

    simulated_files& disk_;
    content_ptr content_;
};

class simulated_files::synced_folder final : public rocksdb::FSDirectoryWrapper {
public:
    synced_folder(simulated_files& disk, std::unique_ptr<rocksdb::FSDirectory> folder,
                  std::string name)
        : FSDirectoryWrapper(std::move(folder)), disk_(disk), name_(std::move(name)) {}

    IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
        return disk_.change([&] {
            disk_.sync_names(name_);
            return FSDirectoryWrapper::Fsync(options, debug);
        });
    }
    IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                                 const rocksdb::DirFsyncOptions& how) override {
        return disk_.change([&] {
            disk_.sync_names(name_);
            return FSDirectoryWrapper::FsyncWithDirOptions(options, debug, how);
        });
    }

private:
    simulated_files& disk_;
    std::string name_;
};

simulated_files::simulated_files(fs::path shadows)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), shadows_(std::move(shadows)) {
    fs::create_directories(shadows_);
}

// --- names ---

simulated_files::content_ptr simulated_files::add(const std::string& file) {
    auto made = std::make_shared<content>();
    made->shadow = shadows_ / std::to_string(changes_);
    fs::create_hard_link(file, made->shadow);
    set(file, made);
    return made;
}

void simulated_files::set(const std::string& name, content_ptr target, bool goes_with_next) {
    const std::string place = normal(name);
    since_.push_back({place, target, goes_with_next});
    if (target)
        now_[place] = std::move(target);
    else
        now_.erase(place);
}

void simulated_files::sync_names(const std::string& folder) {
    std::vector<renaming> left;
    for (renaming& one : since_)
        if (folder_of(one.name) == fs::path(folder))
            one.target ? void(synced_[one.name] = one.target) : void(synced_.erase(one.name));
        else
            left.push_back(std::move(one));
    since_ = std::move(left);
}

void simulated_files::copy_after_power_loss(const fs::path& folder, const fs::path& to,
                                            const chance& below) const {
    names left = synced_;
    std::uint64_t kept = below(since_.size() + 1);
    if (kept > 0 && kept < since_.size() && since_[kept - 1].goes_with_next) ++kept;
    for (std::uint64_t n = 0; n < kept; ++n)
        left[since_[n].name] = since_[n].target;
    for (const auto& [name, target] : left) {
        if (!target) continue;
        const fs::path within = fs::path(name).lexically_relative(folder);
        if (within.empty() || *within.begin() == "..") continue;
        fs::create_directories((to / within).parent_path());
        fs::copy_file(target->shadow, to / within, fs::copy_options::overwrite_existing);
        const std::uint64_t unsynced = target->bytes - target->synced;
        fs::resize_file(to / within, target->synced + below(unsynced + 1));
    }
}

// --- files ---

IOStatus simulated_files::NewWritableFile(const std::string& file,
                                          const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result,
                                          IODebugContext* debug) {
    return change([&] {
        std::error_code none;
        fs::remove(file, none); // it would be emptied; what a shadow has must stay
        std::unique_ptr<rocksdb::FSWritableFile> made;
        const IOStatus done = FileSystemWrapper::NewWritableFile(file, options, &made, debug);
        if (done.ok()) *result = std::make_unique<written_file>(*this, std::move(made), add(file));
        return done;
    });
}

IOStatus simulated_files::ReuseWritableFile(const std::string&, const std::string&,
                                            const rocksdb::FileOptions&,
                                            std::unique_ptr<rocksdb::FSWritableFile>*,
                                            IODebugContext*) {
    return IOStatus::NotSupported("simulated_files: files are not used again");
}

IOStatus simulated_files::ReopenWritableFile(const std::string& file,
                                             const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             IODebugContext* debug) {
    return change([&] {
        const auto known = now_.find(normal(file));
        std::unique_ptr<rocksdb::FSWritableFile> opened;
        const IOStatus done = FileSystemWrapper::ReopenWritableFile(file, options, &opened, debug);
        if (done.ok())
            *result = std::make_unique<written_file>(
                *this, std::move(opened), known == now_.end() ? add(file) : known->second);
        return done;
    });
}

IOStatus simulated_files::NewDirectory(const std::string& folder, const IOOptions& options,
                                       std::unique_ptr<rocksdb::FSDirectory>* result,
                                       IODebugContext* debug) {
    std::unique_ptr<rocksdb::FSDirectory> opened;
    const IOStatus done = FileSystemWrapper::NewDirectory(folder, options, &opened, debug);
    if (done.ok())
        *result = std::make_unique<synced_folder>(*this, std::move(opened),
                                                  folder_of(folder + "/file").lexically_normal());
    return done;
}

IOStatus simulated_files::DeleteFile(const std::string& file, const IOOptions& options,
                                     IODebugContext* debug) {
    return change([&] {
        const IOStatus done = FileSystemWrapper::DeleteFile(file, options, debug);
        if (done.ok()) set(file, nullptr);
        return done;
    });
}

IOStatus simulated_files::RenameFile(const std::string& from, const std::string& to,
                                     const IOOptions& options, IODebugContext* debug) {
    return change([&] {
        const IOStatus done = FileSystemWrapper::RenameFile(from, to, options, debug);
        const auto known = now_.find(normal(from));
        if (!done.ok() || known == now_.end()) return done;
        set(to, known->second, true);
        set(from, nullptr);
        return done;
    });
}

IOStatus simulated_files::LinkFile(const std::string& from, const std::string& to,
                                   const IOOptions& options, IODebugContext* debug) {
    return change([&] {
        const IOStatus done = FileSystemWrapper::LinkFile(from, to, options, debug);
        const auto known = now_.find(normal(from));
        if (done.ok() && known != now_.end()) set(to, known->second);
        return done;
    });
}

} // namespace chainbase::test
