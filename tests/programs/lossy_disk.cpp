/// A disk that can lose power, or fail at a call, under real programs: a FUSE file system in
/// memory.
///
///     lossy_disk FOLDER    mounts itself there; each line on stdin is a command, answered by a
///     line
///
///     fail KINDS NTH ERROR TIMES   calls of these KINDS, counted from now on, fail from the NTH
///     on,
///                                  TIMES of them, with this number of an error
///     stop KINDS NTH               power goes at the NTH: neither it nor a later call is answered,
///     and
///                                  a second line, "stopped KIND NAME", says that it was reached
///     work                         no call fails
///     calls                        {"calls": {KIND: number since the last fail, stop or work},
///                                  "failed": how many of them, "first": the first one's KIND and
///                                  NAME}
///     lose SEED CONTENT NAMES      power is lost and comes back: none, some or all of what was not
///                                  synced is there, of the files' content and of changes of names
///
/// KINDS are separated by commas; `any` is all of them (kind_of). What a loss may leave:
///
///   - Each page of 4 KiB has any of the contents that it had since its file was synced, or is torn
///     between two of them at sectors of 512 bytes. Pages of a file are independent of each other
///     and of its length; one that was cut off or punched is not there again when the length is of
///     later. So a file can have its length and no content.
///   - A created, linked, renamed or removed name is there or not, independently of others, as soon
///     as what happened to the same file before is. A rename is never half done. fsync of a folder
///     keeps its names; fsync of a file does not keep its name.
///   - What fsync, fdatasync, O_DSYNC or syncfs (by lossy_disk.syncfs.cpp: the kernel does not pass
///     it on) brought to the disk stays; msync arrives as writes and fsync. sync_file_range and
///     closing promise nothing. Rights, owners and times are always kept; inodes keep their
///     numbers.
///
/// A sync that fails drops what was to be written, although reads still show it, and the next one
/// succeeds without it, which is what Linux does. A write that fails has written its first half.
///
/// It speaks the kernel's protocol (linux/fuse.h) itself: each call passes one place where it can
/// fail, and no library is needed.

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t sector_bytes = 512;
constexpr std::uint32_t most_bytes = 1 << 20;    // of a write
constexpr std::uint64_t valid_seconds = 1 << 30; // nothing changes but by the kernel's calls

using page = std::array<char, page_bytes>;
using page_pointer = std::shared_ptr<const page>; // null: a hole
const page_pointer zeros = std::make_shared<const page>();

enum class kept { none, some, all };

struct content {
    std::map<std::uint64_t, page_pointer> pages;
    std::uint64_t size = 0;

    [[nodiscard]] page_pointer at(std::uint64_t index) const {
        const auto found = pages.find(index);
        return found != pages.end() ? found->second : nullptr;
    }
    void put(std::uint64_t index, page_pointer data) {
        if (data)
            pages[index] = std::move(data);
        else
            pages.erase(index);
    }
};

/// What a page was since its file was synced. `cuts`: how often the file had been cut or punched.
struct version {
    page_pointer data;
    unsigned cuts;
    bool is_cut; ///< by the last of them
};
struct length {
    std::uint64_t size;
    unsigned cuts;
};

struct inode;
using inode_pointer = std::shared_ptr<inode>;

struct inode {
    std::uint64_t number = 0;
    std::uint32_t mode = 0, uid = 0, gid = 0, links = 0;
    timespec accessed{}, modified{}, changed{};
    std::uint64_t lookups = 0; // that the kernel has not forgotten
    std::string name;          // the last one, for people

    content seen, durable;
    std::map<std::uint64_t, std::vector<version>> versions;
    std::vector<length> lengths;
    unsigned cuts = 0;

    std::map<std::string, inode_pointer> names, durable_names; // of a folder

    [[nodiscard]] bool is_folder() const { return S_ISDIR(mode); }

    void touch() {
        clock_gettime(CLOCK_REALTIME, &modified);
        changed = modified;
    }
    void put(std::uint64_t index, page_pointer data, bool is_cut = false) {
        versions[index].push_back({data, cuts, is_cut});
        seen.put(index, std::move(data));
    }
    void set_size(std::uint64_t size) {
        seen.size = size;
        lengths.push_back({size, cuts});
    }
    void write(std::uint64_t at, std::string_view data) {
        touch();
        while (!data.empty()) {
            const std::uint64_t index = at / page_bytes, begin = at % page_bytes;
            const auto part = data.substr(0, page_bytes - begin);
            const page_pointer old = seen.at(index);
            const auto fresh = std::make_shared<page>(old ? *old : *zeros);
            std::ranges::copy(part, fresh->begin() + static_cast<std::ptrdiff_t>(begin));
            put(index, fresh);
            at += part.size();
            data.remove_prefix(part.size());
            if (at > seen.size) set_size(at);
        }
    }
    [[nodiscard]] std::string read(std::uint64_t at, std::uint64_t bytes) const {
        bytes = at < seen.size ? std::min(bytes, seen.size - at) : 0;
        std::string data(bytes, '\0');
        for (std::uint64_t done = 0; done < bytes;) {
            const std::uint64_t begin = (at + done) % page_bytes;
            const std::uint64_t part = std::min(page_bytes - begin, bytes - done);
            if (const page_pointer from = seen.at((at + done) / page_bytes))
                std::memcpy(data.data() + done, from->data() + begin, part);
            done += part;
        }
        return data;
    }
    /// Zeros from begin to end, holes where whole pages are.
    void clear(std::uint64_t begin, std::uint64_t end) {
        for (auto at = seen.pages.lower_bound(begin / page_bytes);
             at != seen.pages.end() && at->first * page_bytes < end;) {
            const std::uint64_t index = at->first, first = index * page_bytes;
            const page_pointer old = (at++)->second;
            const std::uint64_t from = std::max(begin, first) - first;
            const std::uint64_t to = std::min(end, first + page_bytes) - first;
            if (to - from == page_bytes) {
                put(index, nullptr, true);
                continue;
            }
            const auto rest = std::make_shared<page>(*old);
            std::memset(rest->data() + from, 0, to - from);
            put(index, rest, true);
        }
    }
    void truncate(std::uint64_t size) {
        touch();
        if (size < seen.size) {
            ++cuts;
            clear(size, UINT64_MAX);
        }
        if (size != seen.size) set_size(size);
    }
    [[nodiscard]] int allocate(std::uint64_t begin, std::uint64_t bytes, std::uint32_t mode_bits) {
        const std::uint64_t end = begin + bytes;
        touch();
        if (mode_bits == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)) {
            ++cuts;
            clear(begin, end);
            set_size(seen.size);
            return 0;
        }
        if ((mode_bits & ~static_cast<std::uint32_t>(FALLOC_FL_KEEP_SIZE)) != 0) return EOPNOTSUPP;
        for (std::uint64_t index = begin / page_bytes; index * page_bytes < end; ++index)
            if (!seen.at(index)) put(index, zeros);
        if (mode_bits == 0 && end > seen.size) set_size(end);
        return 0;
    }

    void forget_history() {
        versions.clear();
        lengths.clear();
        cuts = 0;
    }
    void sync() {
        for (auto& [index, all] : versions)
            if (!all.empty()) durable.put(index, all.back().data);
        durable.size = seen.size;
        forget_history();
    }
    /// What a sync that failed leaves: of the content nothing counts as dirty any more.
    void drop_dirty() {
        for (auto& [index, all] : versions)
            std::erase_if(all, [](const version& one) { return !one.is_cut; });
    }
    void lose(std::mt19937_64& random, kept which, kept which_lengths);
};

/// One of count, the first (none is kept), the last (all is), or any.
std::size_t choice(std::mt19937_64& random, kept which, std::size_t count) {
    if (which == kept::some) return random() % count;
    return which == kept::all ? count - 1 : 0;
}

page_pointer torn(std::mt19937_64& random, const page_pointer& a, const page_pointer& b) {
    const auto mixed = std::make_shared<page>(a ? *a : *zeros);
    for (std::uint64_t at = 0; at < page_bytes; at += sector_bytes)
        if (random() % 2)
            std::memcpy(mixed->data() + at, (b ? *b : *zeros).data() + at, sector_bytes);
    return mixed;
}

void inode::lose(std::mt19937_64& random, kept which, kept which_lengths) {
    lengths.insert(lengths.begin(), {durable.size, 0});
    const length left = lengths[choice(random, which_lengths, lengths.size())];
    const std::uint64_t percent = random() % 101; // few or many of the pages
    for (auto& [index, all] : versions) {
        std::vector<page_pointer> possible{durable.at(index)};
        for (const version& one : all) {
            if (one.is_cut && one.cuts > left.cuts) break;
            if (one.is_cut) possible.clear();
            possible.push_back(one.data);
        }
        const kept own = which != kept::some        ? which
                         : random() % 4 == 0        ? kept::some
                         : random() % 100 < percent ? kept::all
                                                    : kept::none;
        page_pointer chosen = possible[choice(random, own, possible.size())];
        if (own == kept::some)
            chosen = torn(random, chosen, possible[choice(random, own, possible.size())]);
        durable.put(index, chosen);
    }
    seen = durable;
    seen.size = UINT64_MAX;
    clear(left.size, UINT64_MAX);
    seen.size = left.size;
    durable = seen;
    forget_history();
}

/// A name that became `child`'s, or that is not its any more.
struct name_change {
    inode_pointer folder;
    std::string name;
    inode_pointer child;
    bool is_there;
};
using name_changes = std::vector<name_change>; // that happen together

class file_system {
public:
    file_system() {
        root_ = make(S_IFDIR | 0700, getuid(), getgid());
        table_[root_->number] = root_;
    }

    [[nodiscard]] inode_pointer find(std::uint64_t number) const {
        const auto found = table_.find(number);
        return found != table_.end() ? found->second : nullptr;
    }
    inode_pointer make(std::uint32_t mode, std::uint32_t uid, std::uint32_t gid) {
        const auto made = std::make_shared<inode>();
        made->number = next_++;
        made->mode = mode;
        made->uid = uid;
        made->gid = gid;
        made->touch();
        made->accessed = made->modified;
        return made;
    }
    void looked_up(const inode_pointer& one) {
        ++one->lookups;
        table_[one->number] = one;
    }
    void forget(std::uint64_t number, std::uint64_t lookups) {
        const inode_pointer one = find(number);
        if (one && one != root_ && (one->lookups -= std::min(one->lookups, lookups)) == 0)
            table_.erase(number);
    }

    void change(name_changes together) {
        for (const name_change& one : together) {
            one.folder->touch();
            clock_gettime(CLOCK_REALTIME, &one.child->changed);
            if (one.is_there) {
                const auto before = one.folder->names.find(one.name);
                if (before != one.folder->names.end()) --before->second->links;
                one.child->name = one.name;
            }
            one.child->links += one.is_there ? 1 : -1U;
            apply(one, one.folder->names);
        }
        pending_.push_back(std::move(together));
    }
    /// All changes of its names, and what happened to the same files before.
    void sync_names_of(const inode_pointer& folder) {
        std::set<inode_pointer> needed;
        std::vector<name_changes> synced;
        for (std::size_t i = pending_.size(); i-- > 0;) {
            const bool is_needed = std::ranges::any_of(pending_[i], [&](const name_change& one) {
                return one.folder == folder || needed.contains(one.child);
            });
            if (!is_needed) continue;
            for (const name_change& one : pending_[i])
                needed.insert(one.child);
            synced.push_back(std::move(pending_[i]));
            pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        for (std::size_t i = synced.size(); i-- > 0;)
            make_durable(synced[i]);
    }
    /// syncfs; one that fails drops all dirty content.
    void sync_all(bool works) {
        if (works) {
            for (const name_changes& one : pending_)
                make_durable(one);
            pending_.clear();
        }
        for (const inode_pointer& one : all())
            works ? one->sync() : one->drop_dirty();
    }
    void lose_power(std::uint64_t seed, kept contents, kept names) {
        std::mt19937_64 random(seed);
        std::set<inode_pointer> lost;
        const std::uint64_t percent = random() % 101;
        for (const name_changes& together : pending_) {
            const bool is_lost =
                names == kept::none || (names == kept::some && random() % 100 >= percent) ||
                std::ranges::any_of(together, [&](auto& one) { return lost.contains(one.child); });
            if (!is_lost)
                make_durable(together);
            else
                for (const name_change& one : together)
                    lost.insert(one.child);
        }
        pending_.clear();
        table_ = {{root_->number, root_}};
        std::set<inode_pointer> reached;
        restart(root_, reached);
        for (const inode_pointer& one : reached)
            one->lose(random, contents, names);
    }

private:
    static void apply(const name_change& one, std::map<std::string, inode_pointer>& to) {
        if (one.is_there)
            to[one.name] = one.child;
        else if (const auto found = to.find(one.name);
                 found != to.end() && found->second == one.child)
            to.erase(found);
    }
    static void make_durable(const name_changes& together) {
        for (const name_change& one : together)
            apply(one, one.folder->durable_names);
    }
    static void restart(const inode_pointer& one, std::set<inode_pointer>& reached) {
        if (reached.insert(one).second) one->links = 0;
        ++one->links;
        one->lookups = 0;
        one->names = one->durable_names;
        for (const auto& [name, child] : one->names)
            restart(child, reached);
    }
    [[nodiscard]] std::set<inode_pointer> all() const {
        std::set<inode_pointer> found;
        std::vector<inode_pointer> open;
        for (const auto& [number, one] : table_)
            open.push_back(one);
        while (!open.empty()) {
            const inode_pointer one = open.back();
            open.pop_back();
            if (!found.insert(one).second) continue;
            for (const auto& [name, child] : one->names)
                open.push_back(child);
        }
        return found;
    }

    std::map<std::uint64_t, inode_pointer> table_; // that the kernel knows
    inode_pointer root_;
    std::uint64_t next_ = FUSE_ROOT_ID;
    std::vector<name_changes> pending_;
};

/// When which calls fail.
struct failure {
    std::set<std::string> kinds;
    std::uint64_t nth = 0;
    int error = 0; // 0: power goes
    std::uint64_t times = 0;
};

/// The kernel's end: requests come in, each is counted, perhaps fails, and is answered.
class server {
public:
    explicit server(std::string folder) : folder_(std::move(folder)) { mount_it(); }

    void run() {
        for (;;) {
            std::array<pollfd, 2> waits{
                {{STDIN_FILENO, POLLIN, 0}, {is_stopped_ ? -1 : device_, POLLIN, 0}}};
            if (poll(waits.data(), waits.size(), -1) < 0) continue;
            if (waits[0].revents != 0 && !run_advice()) return unmount_it();
            if (!is_stopped_ && (waits[1].revents & POLLIN) != 0) take();
        }
    }

private:
    // --- commands ---

    [[nodiscard]] bool run_advice() {
        std::string line;
        char one = 0;
        while (read(STDIN_FILENO, &one, 1) == 1 && one != '\n')
            line += one;
        if (one != '\n') return false;
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        if (verb == "lose")
            lose(words);
        else if (verb == "calls")
            tell_calls();
        else {
            calls_.clear();
            failed_ = 0;
            first_.clear();
            failing_ = {};
            if (verb != "work") arm(words, verb == "fail");
            std::cout << verb << std::endl;
        }
        return true;
    }
    void arm(std::istream& words, bool fails) {
        std::string kinds, kind;
        words >> kinds >> failing_.nth;
        for (std::istringstream each(kinds); std::getline(each, kind, ',');)
            failing_.kinds.insert(kind);
        failing_.times = UINT64_MAX;
        if (fails) words >> failing_.error >> failing_.times;
    }
    void tell_calls() {
        std::cout << R"({"calls": {)";
        for (const char* comma = ""; const auto& [kind, count] : calls_) {
            std::cout << comma << '"' << kind << "\": " << count;
            comma = ", ";
        }
        std::cout << R"(}, "failed": )" << failed_ << R"(, "first": ")" << first_ << "\"}"
                  << std::endl;
    }
    void lose(std::istream& words) {
        const std::map<std::string, kept> by_name{
            {"none", kept::none}, {"some", kept::some}, {"all", kept::all}};
        std::uint64_t seed = 0;
        std::string contents, names;
        words >> seed >> contents >> names;
        unmount_it();
        files_.lose_power(seed, by_name.at(contents), by_name.at(names));
        failing_ = {};
        is_stopped_ = false;
        mount_it();
        std::cout << "lost" << std::endl;
    }

    // --- the mount ---

    void mount_it() {
        device_ = open("/dev/fuse", O_RDWR | O_CLOEXEC);
        const std::string options =
            "fd=" + std::to_string(device_) +
            ",rootmode=40700,default_permissions,user_id=" + std::to_string(getuid()) +
            ",group_id=" + std::to_string(getgid());
        if (device_ >= 0 && mount("lossy_disk", folder_.c_str(), "fuse", MS_NOSUID | MS_NODEV,
                                  options.c_str()) == 0)
            return;
        std::cout << "cannot mount: " << std::strerror(errno) << std::endl;
        std::exit(1);
    }
    /// Whoever waits for an answer gets an error: nothing of the kernel's cache comes here any
    /// more.
    void unmount_it() {
        close(device_);
        umount2(folder_.c_str(), MNT_DETACH);
        listings_.clear();
    }

    // --- requests ---

    void take() {
        const ssize_t count = ::read(device_, request_.data(), request_.size());
        if (count < static_cast<ssize_t>(sizeof in_)) return;
        std::memcpy(&in_, request_.data(), sizeof in_);
        rest_ = std::string_view(request_).substr(sizeof in_, in_.len - sizeof in_);
        if (in_.opcode == FUSE_FORGET)
            return files_.forget(in_.nodeid, take<fuse_forget_in>().nlookup);
        if (in_.opcode == FUSE_BATCH_FORGET) {
            for (std::uint32_t left = take<fuse_batch_forget_in>().count; left > 0; --left) {
                const auto one = take<fuse_forget_one>();
                files_.forget(one.nodeid, one.nlookup);
            }
            return;
        }
        if (in_.opcode == FUSE_INTERRUPT) return;
        node_ = files_.find(in_.nodeid);
        answer_.clear();
        if (in_.opcode != FUSE_INIT && !node_) return reply(ESTALE);
        const int error = failing();
        if (is_stopped_) {
            std::cout << "stopped " << first_ << std::endl;
            return;
        }
        reply(error != 0 ? error : perform());
    }
    template <class Part>
    Part take() {
        Part part{};
        std::memcpy(&part, rest_.data(), std::min(sizeof part, rest_.size()));
        rest_.remove_prefix(std::min(sizeof part, rest_.size()));
        return part;
    }
    std::string take_name() {
        const std::string name(rest_.substr(0, rest_.find('\0')));
        rest_.remove_prefix(std::min(name.size() + 1, rest_.size()));
        return name;
    }
    template <class Part>
    int put(const Part& part) {
        answer_.append(reinterpret_cast<const char*>(&part), sizeof part);
        return 0;
    }
    void reply(int error) {
        if (error != 0) answer_.clear();
        fuse_out_header out{static_cast<std::uint32_t>(sizeof out + answer_.size()), -error,
                            in_.unique};
        const std::array<iovec, 2> parts{{{&out, sizeof out}, {answer_.data(), answer_.size()}}};
        if (writev(device_, parts.data(), parts.size()) < 0 && errno != ENOENT)
            std::perror("lossy_disk: reply"); // ENOENT: who asked was interrupted
    }

    /// What is counted, and can fail.
    [[nodiscard]] const char* kind_of() const {
        switch (in_.opcode) {
        case FUSE_WRITE:
            return "write";
        case FUSE_FSYNC:
            return "fsync";
        case FUSE_FSYNCDIR:
            return "fsyncdir";
        case FUSE_SETXATTR:
            return "syncfs";
        case FUSE_FALLOCATE:
            return "fallocate";
        case FUSE_CREATE:
            return "create";
        case FUSE_MKDIR:
            return "mkdir";
        case FUSE_LINK:
            return "link";
        case FUSE_RENAME:
        case FUSE_RENAME2:
            return "rename";
        case FUSE_UNLINK:
        case FUSE_RMDIR:
            return "remove";
        case FUSE_SETATTR: {
            fuse_setattr_in how{};
            std::memcpy(&how, rest_.data(), std::min(sizeof how, rest_.size()));
            return (how.valid & FATTR_SIZE) != 0 ? "truncate" : nullptr;
        }
        default:
            return nullptr;
        }
    }
    /// The error with which this call fails, 0 if it does not; what it did in spite of that is
    /// done.
    [[nodiscard]] int failing() {
        const char* const kind = kind_of();
        if (!kind) return 0;
        ++calls_[kind];
        if (!failing_.kinds.contains(kind) && !failing_.kinds.contains("any")) return 0;
        if (++failing_.reached < failing_.nth || failing_.reached - failing_.nth >= failing_.times)
            return 0;
        if (failed_++ == 0) first_ = std::string(kind) + " " + name_of_call();
        is_stopped_ = failing_.error == 0;
        if (in_.opcode == FUSE_WRITE) {
            const auto how = take<fuse_write_in>();
            node_->write(how.offset, rest_.substr(0, how.size / 2));
        } else if (!is_stopped_ && in_.opcode == FUSE_FSYNC)
            node_->drop_dirty();
        else if (!is_stopped_ && in_.opcode == FUSE_SETXATTR)
            files_.sync_all(false);
        return failing_.error;
    }
    [[nodiscard]] std::string name_of_call() const {
        std::size_t front = 0;
        switch (in_.opcode) {
        case FUSE_CREATE:
            front = sizeof(fuse_create_in);
            break;
        case FUSE_MKDIR:
            front = sizeof(fuse_mkdir_in);
            break;
        case FUSE_LINK:
            front = sizeof(fuse_link_in);
            break;
        case FUSE_RENAME:
            front = sizeof(fuse_rename_in);
            break;
        case FUSE_RENAME2:
            front = sizeof(fuse_rename2_in);
            break;
        case FUSE_UNLINK:
        case FUSE_RMDIR:
            break;
        default:
            return node_->name;
        }
        const std::string_view name = rest_.substr(front);
        return std::string(name.substr(0, name.find('\0')));
    }

    [[nodiscard]] int perform() {
        switch (in_.opcode) {
        case FUSE_INIT:
            return start();
        case FUSE_DESTROY:
        case FUSE_FLUSH:
        case FUSE_RELEASE:
            return 0;
        case FUSE_STATFS:
            return room();
        case FUSE_LOOKUP:
            return look_up();
        case FUSE_GETATTR:
            return tell_attributes();
        case FUSE_SETATTR:
            return set_attributes();
        case FUSE_OPEN:
            return put(fuse_open_out{0, FOPEN_KEEP_CACHE, 0});
        case FUSE_OPENDIR:
            return open_folder();
        case FUSE_READDIR:
            return list_folder();
        case FUSE_RELEASEDIR:
            listings_.erase(take<fuse_release_in>().fh);
            return 0;
        case FUSE_CREATE:
            return create();
        case FUSE_MKDIR:
            return make_folder();
        case FUSE_LINK:
            return link();
        case FUSE_UNLINK:
        case FUSE_RMDIR:
            return remove();
        case FUSE_RENAME:
            return rename(take<fuse_rename_in>().newdir, 0);
        case FUSE_RENAME2:
            return rename_with_flags();
        case FUSE_READ:
            return read_file();
        case FUSE_WRITE:
            return write_file();
        case FUSE_FALLOCATE:
            return allocate();
        case FUSE_LSEEK:
            return seek();
        case FUSE_FSYNC:
            node_->sync();
            return 0;
        case FUSE_FSYNCDIR:
            files_.sync_names_of(node_);
            return 0;
        case FUSE_SETXATTR:
            files_.sync_all(true);
            return 0;
        default:
            return ENOSYS;
        }
    }

    int start() {
        const auto kernel = take<fuse_init_in>();
        fuse_init_out out{};
        out.major = FUSE_KERNEL_VERSION;
        out.minor = FUSE_KERNEL_MINOR_VERSION;
        out.max_readahead = kernel.max_readahead;
        out.flags = kernel.flags & (FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_ASYNC_READ);
        out.max_write = most_bytes;
        out.max_pages = most_bytes / page_bytes;
        out.time_gran = 1;
        return put(out);
    }
    int room() {
        fuse_statfs_out out{};
        out.st.blocks = out.st.bfree = out.st.bavail = out.st.files = out.st.ffree = 1 << 28;
        out.st.bsize = out.st.frsize = page_bytes;
        out.st.namelen = 255;
        return put(out);
    }

    [[nodiscard]] static fuse_attr attributes(const inode& of) {
        fuse_attr out{};
        const auto seconds = [](const timespec& time) {
            return static_cast<std::uint64_t>(time.tv_sec);
        };
        const auto rest = [](const timespec& time) {
            return static_cast<std::uint32_t>(time.tv_nsec);
        };
        out.ino = of.number;
        out.size = of.seen.size;
        out.blocks = of.seen.pages.size() * (page_bytes / 512);
        out.atime = seconds(of.accessed);
        out.mtime = seconds(of.modified);
        out.ctime = seconds(of.changed);
        out.atimensec = rest(of.accessed);
        out.mtimensec = rest(of.modified);
        out.ctimensec = rest(of.changed);
        out.mode = of.mode;
        out.nlink = of.is_folder() ? 2 : of.links;
        out.uid = of.uid;
        out.gid = of.gid;
        out.blksize = page_bytes;
        return out;
    }
    int put_entry(const inode_pointer& one) {
        files_.looked_up(one);
        fuse_entry_out out{};
        out.nodeid = one->number;
        out.entry_valid = out.attr_valid = valid_seconds;
        out.attr = attributes(*one);
        return put(out);
    }
    int tell_attributes() { return put(fuse_attr_out{valid_seconds, 0, 0, attributes(*node_)}); }
    int set_attributes() {
        const auto how = take<fuse_setattr_in>();
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        const auto time = [&](std::uint32_t given, std::uint32_t is_now, std::uint64_t seconds,
                              std::uint32_t rest, timespec& to) {
            if ((how.valid & is_now) != 0)
                to = now;
            else if ((how.valid & given) != 0)
                to = {static_cast<time_t>(seconds), static_cast<long>(rest)};
        };
        if ((how.valid & FATTR_MODE) != 0)
            node_->mode = (node_->mode & S_IFMT) | (how.mode & 07777);
        if ((how.valid & FATTR_UID) != 0) node_->uid = how.uid;
        if ((how.valid & FATTR_GID) != 0) node_->gid = how.gid;
        if ((how.valid & FATTR_SIZE) != 0) node_->truncate(how.size);
        time(FATTR_ATIME, FATTR_ATIME_NOW, how.atime, how.atimensec, node_->accessed);
        time(FATTR_MTIME, FATTR_MTIME_NOW, how.mtime, how.mtimensec, node_->modified);
        node_->changed = now;
        return tell_attributes();
    }

    [[nodiscard]] static inode_pointer child(const inode_pointer& folder, const std::string& name) {
        const auto found = folder->names.find(name);
        return found != folder->names.end() ? found->second : nullptr;
    }
    int look_up() {
        const inode_pointer found = child(node_, take_name());
        return found ? put_entry(found) : ENOENT;
    }
    [[nodiscard]] int make(std::uint32_t mode) {
        const std::string name = take_name();
        if (child(node_, name)) return EEXIST;
        const inode_pointer made = files_.make(mode, in_.uid, in_.gid);
        files_.change({{node_, name, made, true}});
        return put_entry(made);
    }
    int create() {
        const int error = make(S_IFREG | (take<fuse_create_in>().mode & 07777));
        return error != 0 ? error : put(fuse_open_out{0, FOPEN_KEEP_CACHE, 0});
    }
    int make_folder() { return make(S_IFDIR | (take<fuse_mkdir_in>().mode & 07777)); }
    int link() {
        const inode_pointer file = files_.find(take<fuse_link_in>().oldnodeid);
        const std::string name = take_name();
        if (!file || child(node_, name)) return file ? EEXIST : ESTALE;
        files_.change({{node_, name, file, true}});
        return put_entry(file);
    }
    int remove() {
        const std::string name = take_name();
        const inode_pointer found = child(node_, name);
        if (!found) return ENOENT;
        if (!found->names.empty()) return ENOTEMPTY;
        files_.change({{node_, name, found, false}});
        return 0;
    }
    int rename_with_flags() {
        const auto how = take<fuse_rename2_in>();
        return rename(how.newdir, how.flags);
    }
    int rename(std::uint64_t to, std::uint32_t flags) {
        const inode_pointer folder = files_.find(to);
        const std::string from = take_name(), name = take_name();
        if (!folder) return ESTALE;
        const inode_pointer file = child(node_, from), other = child(folder, name);
        if (!file || ((flags & RENAME_EXCHANGE) != 0 && !other)) return ENOENT;
        if ((flags & RENAME_EXCHANGE) != 0) {
            files_.change({{node_, from, file, false},
                           {folder, name, other, false},
                           {node_, from, other, true},
                           {folder, name, file, true}});
            return 0;
        }
        if (other && (flags & RENAME_NOREPLACE) != 0) return EEXIST;
        if (other && !other->names.empty()) return ENOTEMPTY;
        if (other != file) files_.change({{node_, from, file, false}, {folder, name, file, true}});
        return 0;
    }

    /// What a folder holds when it is opened: who lists it may remove names meanwhile.
    int open_folder() {
        std::string all;
        for (const auto& [name, one] : node_->names) {
            fuse_dirent entry{one->number, 0, static_cast<std::uint32_t>(name.size()),
                              one->mode >> 12};
            const std::size_t begin = all.size();
            all.append(reinterpret_cast<const char*>(&entry), FUSE_NAME_OFFSET).append(name);
            all.resize(begin + FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + name.size()));
            entry.off = all.size();
            std::memcpy(all.data() + begin, &entry, FUSE_NAME_OFFSET);
        }
        listings_[++last_listing_] = std::move(all);
        return put(fuse_open_out{last_listing_, 0, 0});
    }
    int list_folder() {
        const auto how = take<fuse_read_in>();
        const std::string& all = listings_[how.fh];
        std::size_t end = how.offset;
        while (end < all.size()) {
            fuse_dirent entry{};
            std::memcpy(&entry, all.data() + end, FUSE_NAME_OFFSET);
            if (entry.off - how.offset > how.size) break;
            end = entry.off;
        }
        answer_ = all.substr(std::min<std::size_t>(how.offset, all.size()), end - how.offset);
        return 0;
    }

    int read_file() {
        const auto how = take<fuse_read_in>();
        answer_ = node_->read(how.offset, how.size);
        return 0;
    }
    int write_file() {
        const auto how = take<fuse_write_in>();
        node_->write(how.offset, rest_.substr(0, how.size));
        if ((how.flags & O_DSYNC) != 0) node_->sync();
        return put(fuse_write_out{how.size, 0});
    }
    int allocate() {
        const auto how = take<fuse_fallocate_in>();
        return node_->allocate(how.offset, how.length, how.mode);
    }
    int seek() {
        const auto how = take<fuse_lseek_in>();
        const content& in = node_->seen;
        if (how.offset >= in.size) return ENXIO;
        std::uint64_t index = how.offset / page_bytes;
        if (how.whence == SEEK_DATA) {
            const auto next = in.pages.lower_bound(index);
            if (next == in.pages.end()) return ENXIO;
            index = next->first;
        } else
            while (index * page_bytes < in.size && in.at(index))
                ++index;
        return put(fuse_lseek_out{std::min(std::max(how.offset, index * page_bytes), in.size)});
    }

    std::string folder_;
    file_system files_;
    int device_ = -1;
    std::string request_ = std::string(most_bytes + page_bytes, '\0');
    fuse_in_header in_{};
    std::string_view rest_; // of the request
    std::string answer_;
    inode_pointer node_;
    std::map<std::uint64_t, std::string> listings_;
    std::uint64_t last_listing_ = 0;

    struct armed : failure {
        std::uint64_t reached = 0;
    } failing_;
    std::map<std::string, std::uint64_t> calls_;
    std::uint64_t failed_ = 0;
    std::string first_;
    bool is_stopped_ = false;
};

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: lossy_disk FOLDER\n";
        return 2;
    }
    server disk(argv[1]);
    std::cout << "mounted" << std::endl;
    disk.run();
}
