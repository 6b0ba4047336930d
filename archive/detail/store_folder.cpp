#include <archive/detail/store_folder.hpp>
#include <pool_allocator/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace chainbase::archive::detail {

namespace {

namespace fs = std::filesystem;

constexpr const char* format_text = "chainbase archive\nformat 1\n";

[[noreturn]] void fail(const fs::path& file, const std::string& operation, int reason) {
    const std::string message =
        "archive: " + operation + " of \"" + file.string() + "\" failed: " + std::strerror(reason);
    if (reason == ENOSPC || reason == EDQUOT)
        throw out_of_space_error(message + "; make room and try again");
    throw io_error(message + "; check the disk and the permissions");
}

class file_descriptor {
public:
    file_descriptor(fs::path file, int flags)
        : file_(std::move(file)), number_(::open(file_.c_str(), flags | O_CLOEXEC, 0644)) {
        if (number_ < 0) fail(file_, "open", errno);
    }
    file_descriptor(const file_descriptor&) = delete;
    file_descriptor& operator=(const file_descriptor&) = delete;
    ~file_descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    void write(const std::string& text) {
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t count = ::write(number_, text.data() + done, text.size() - done);
            if (count < 0 && errno != EINTR) fail(file_, "write", errno);
            if (count > 0) done += static_cast<std::size_t>(count);
        }
    }
    void sync() {
        if (::fsync(number_) != 0) fail(file_, "fsync", errno);
    }
    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] int release() { return std::exchange(number_, -1); }

private:
    fs::path file_;
    int number_;
};

void replace_file(const fs::path& file, const std::string& text) {
    const fs::path fresh = file.string() + ".new";
    {
        file_descriptor out(fresh, O_WRONLY | O_CREAT | O_TRUNC);
        out.write(text);
        out.sync();
    }
    if (::rename(fresh.c_str(), file.c_str()) != 0) fail(file, "rename", errno);
    file_descriptor(file.parent_path(), O_RDONLY | O_DIRECTORY).sync();
}

std::string read_file(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    if (!in || !(text << in.rdbuf())) fail(file, "read", errno ? errno : EIO);
    return text.str();
}

// A creation that was interrupted leaves at most the new format file behind.
bool is_new(const fs::path& folder) {
    if (!fs::exists(folder)) return true;
    if (!fs::is_directory(folder)) return false;
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.path().filename() != "format.new") return false;
    return true;
}

void check_format(const fs::path& folder) {
    const fs::path file = folder / "format";
    if (!fs::is_regular_file(file))
        throw format_error("archive: \"" + folder.string() +
                           "\" is not the folder of an archive store (it has no file \"format\"); "
                           "nothing in it was touched: give another folder or an empty one");
    const std::string text = read_file(file);
    if (text != format_text)
        throw format_error("archive: \"" + file.string() + "\" says \"" + text.substr(0, 80) +
                           "\" where this program knows \"chainbase archive, format 1\"; use the "
                           "program that made it");
}

// A lock of the open file description: the kernel releases it when its holder dies, it holds
// between two objects of one process too, and others can see it without taking it.
struct flock whole_file_lock() {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

int take_lock(const fs::path& folder) {
    file_descriptor file(folder / "format", O_RDWR);
    struct flock lock = whole_file_lock();
    if (::fcntl(file.number(), F_OFD_SETLK, &lock) == 0) return file.release();
    if (errno != EAGAIN && errno != EACCES) fail(folder / "format", "lock", errno);
    throw locked_error("archive: \"" + folder.string() +
                       "\" is being written by another process or store; stop that one, or open "
                       "it read-only");
}

} // namespace

store_folder::store_folder(fs::path folder, int lock) : folder_(std::move(folder)), lock_(lock) {}

store_folder::store_folder(store_folder&& other) noexcept
    : folder_(std::move(other.folder_)), lock_(std::exchange(other.lock_, -1)) {}

store_folder::~store_folder() {
    if (lock_ >= 0) ::close(lock_);
}

store_folder store_folder::open_for_writing(const fs::path& folder) {
    try {
        if (is_new(folder)) {
            fs::create_directories(folder);
            replace_file(folder / "format", format_text);
        }
        check_format(folder);
        return store_folder(folder, take_lock(folder));
    } catch (const fs::filesystem_error& error) {
        throw io_error(std::string("archive: ") + error.what() +
                       "; check the path, the disk and the permissions");
    }
}

store_folder store_folder::open_for_reading(const fs::path& folder) {
    check_format(folder);
    return store_folder(folder, -1);
}

bool store_folder::is_being_written() const {
    if (lock_ >= 0) return false; // the lock is ours
    const file_descriptor file(folder_ / "format", O_RDONLY);
    struct flock lock = whole_file_lock();
    if (::fcntl(file.number(), F_OFD_GETLK, &lock) != 0) fail(folder_ / "format", "lock", errno);
    return lock.l_type != F_UNLCK;
}

std::optional<synced_mark> store_folder::mark() const {
    const fs::path file = folder_ / "synced";
    if (!fs::exists(file)) return std::nullopt;
    std::istringstream text(read_file(file));
    synced_mark mark;
    std::string state;
    if (!(text >> mark.sequence >> state) || (state != "closed" && state != "open"))
        throw damaged_error("archive: \"" + file.string() +
                            "\" is malformed; restore the archive from a backup or rebuild it by a "
                            "replay");
    mark.closed = state == "closed";
    return mark;
}

void store_folder::write_mark(const synced_mark& mark) const {
    replace_file(folder_ / "synced",
                 std::to_string(mark.sequence) + (mark.closed ? " closed\n" : " open\n"));
}

} // namespace chainbase::archive::detail
