#include <pool_allocator/base/error.hpp>

#include <tests/support/simulated_disk.hpp>

#include <algorithm>
#include <cstring>
#include <set>

namespace chainbase::test {

namespace fs = std::filesystem;

class simulated_disk::open_file final : public disk_file {
public:
    open_file(simulated_disk& on, fs::path name, std::shared_ptr<inode> what)
        : disk_(on), name_(std::move(name)), inode_(std::move(what)) {}

    void write(std::uint64_t offset, std::span<const std::byte> data) override {
        try {
            disk_.reached(call::write, name_);
        } catch (...) {
            store(offset, data.first(std::min(data.size(), disk_.part_of_a_failed_write)));
            throw;
        }
        store(offset, data);
    }
    std::size_t read(std::uint64_t offset, std::span<std::byte> into) const override {
        disk_.reached(call::read, name_);
        const std::lock_guard lock(disk_.mutex_);
        const content& from = inode_->seen;
        if (into.empty() || offset >= from.size()) return 0;
        const std::size_t count = std::min<std::size_t>(into.size(), from.size() - offset);
        std::memcpy(into.data(), from.data() + offset, count);
        return count;
    }
    void sync() override {
        try {
            disk_.reached(call::sync, name_);
        } catch (...) {
            end_sync(disk_.failed_sync_works);
            throw;
        }
        end_sync(true);
    }
    void reserve(std::uint64_t offset, std::uint64_t length) override {
        disk_.reached(call::reserve, name_);
        if (offset + length > bytes()) change_length(offset + length);
    }
    void resize(std::uint64_t bytes) override {
        disk_.reached(call::resize, name_);
        change_length(bytes);
    }
    std::uint64_t bytes() const override {
        const std::lock_guard lock(disk_.mutex_);
        return inode_->seen.size();
    }

private:
    void end_sync(bool works) {
        const std::lock_guard lock(disk_.mutex_);
        if (works)
            for (const change& one : inode_->pending)
                apply(inode_->durable, one);
        inode_->pending.clear();
    }
    void store(std::uint64_t offset, std::span<const std::byte> data) {
        if (data.empty()) return;
        note({offset, {data.begin(), data.end()}, false});
    }
    void change_length(std::uint64_t bytes) { note({bytes, {}, true}); }
    void note(change one) {
        const std::lock_guard lock(disk_.mutex_);
        apply(inode_->seen, one);
        inode_->pending.push_back(std::move(one));
    }

    simulated_disk& disk_;
    fs::path name_;
    std::shared_ptr<inode> inode_;
};

simulated_disk::simulated_disk(const simulated_disk& other) : disk() {
    const std::lock_guard lock(other.mutex_);
    std::map<const inode*, std::shared_ptr<inode>> copies;
    const auto copy = [&](const names& from) {
        names to;
        for (const auto& [name, what] : from) {
            auto& twin = copies[what.get()];
            if (!twin) twin = std::make_shared<inode>(*what);
            to.emplace(name, twin);
        }
        return to;
    };
    seen_ = copy(other.seen_);
    durable_ = copy(other.durable_);
}

void simulated_disk::apply(content& to, const change& one) {
    if (one.is_resize) {
        to.resize(one.at);
        return;
    }
    if (to.size() < one.at + one.data.size()) to.resize(one.at + one.data.size());
    std::memcpy(to.data() + one.at, one.data.data(), one.data.size());
}

/// Each sector of a write comes there, or does not.
void simulated_disk::apply_torn(content& to, const change& one, random_source& random) {
    constexpr std::uint64_t sector = 512;
    if (one.is_resize) {
        if (random.chance(500)) apply(to, one);
        return;
    }
    const std::uint32_t luck = random.below(3); // none of it, all of it, some of it
    for (std::uint64_t at = one.at; at < one.at + one.data.size();) {
        const std::uint64_t end = std::min(at / sector * sector + sector, one.at + one.data.size());
        const auto begin = one.data.begin() + static_cast<std::ptrdiff_t>(at - one.at);
        const auto length = static_cast<std::ptrdiff_t>(end - at);
        if (luck == 1 || (luck == 2 && random.chance(500)))
            apply(to, {at, {begin, begin + length}, false});
        at = end;
    }
}

void simulated_disk::lose_power(random_source& random) {
    const std::lock_guard lock(mutex_);
    std::set<fs::path> all;
    for (const names* one : {&seen_, &durable_})
        for (const auto& [name, what] : *one)
            all.insert(name);
    names left;
    for (const fs::path& name : all) {
        const auto now = seen_.find(name);
        const auto then = durable_.find(name);
        const bool is_new = random.chance(500);
        if (is_new && now != seen_.end()) left.emplace(*now);
        if (!is_new && then != durable_.end()) left.emplace(*then);
    }
    std::set<inode*> done;
    for (const auto& [name, what] : left) {
        if (!done.insert(what.get()).second) continue;
        for (std::size_t i = what->pending.size(); i > 1; --i)
            std::swap(what->pending[i - 1],
                      what->pending[random.below(static_cast<std::uint32_t>(i))]);
        for (const change& one : what->pending)
            apply_torn(what->durable, one, random);
        what->pending.clear();
        what->seen = what->durable;
    }
    seen_ = durable_ = left;
}

void simulated_disk::flip(const fs::path& file, std::uint64_t bit) {
    const std::lock_guard lock(mutex_);
    inode& what = *seen_.at(file);
    for (content* one : {&what.seen, &what.durable})
        if (bit / 8 < one->size()) (*one)[bit / 8] ^= std::byte{1} << (bit % 8);
}

std::map<fs::path, std::uint64_t> simulated_disk::sizes() const {
    const std::lock_guard lock(mutex_);
    std::map<fs::path, std::uint64_t> all;
    for (const auto& [name, what] : seen_)
        all[name] = what->seen.size();
    return all;
}

std::unique_ptr<disk_file> simulated_disk::open(const fs::path& file, mode how) {
    if (how == mode::create) reached(call::open, file);
    const std::lock_guard lock(mutex_);
    const bool is_there = seen_.contains(file);
    if (how == mode::create && is_there) throw io_error(file.string() + " is there");
    if (how != mode::create && !is_there) throw io_error(file.string() + " is not there");
    if (how == mode::create) seen_[file] = std::make_shared<inode>();
    return std::make_unique<open_file>(*this, file, seen_[file]);
}

bool simulated_disk::exists(const fs::path& file) {
    const std::lock_guard lock(mutex_);
    return seen_.contains(file);
}

std::vector<std::string> simulated_disk::names_in(const fs::path& folder) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, what] : seen_)
        if (name.parent_path() == folder) names.push_back(name.filename().string());
    return names;
}

void simulated_disk::rename(const fs::path& from, const fs::path& to) {
    reached(call::rename, from);
    const std::lock_guard lock(mutex_);
    seen_[to] = seen_.at(from);
    seen_.erase(from);
}

void simulated_disk::remove(const fs::path& file) {
    reached(call::remove, file);
    const std::lock_guard lock(mutex_);
    seen_.erase(file);
}

void simulated_disk::make_folder(const fs::path&) {}

void simulated_disk::sync_folder(const fs::path& folder) {
    reached(call::sync_folder, folder);
    const std::lock_guard lock(mutex_);
    const auto is_here = [&](const auto& one) { return one.first.parent_path() == folder; };
    std::erase_if(durable_, is_here);
    std::ranges::copy_if(seen_, std::inserter(durable_, durable_.end()), is_here);
}

/// The other files of that file system are none of this disk's, and its own are synced one by one.
void simulated_disk::sync_file_system(const fs::path& folder) {
    reached(call::sync_file_system, folder);
}

} // namespace chainbase::test
