#include <chainbase/trace/growing_file.hpp>
#include <pool_allocator/base/background_thread.hpp>
#include <pool_allocator/base/files.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace chainbase::trace {

namespace {

int open_at(const std::filesystem::path& file, growing_file::existing how) {
    const int only_new = how == growing_file::existing::is_refused ? O_EXCL : 0;
    const int opened =
        ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | only_new, 0644);
    if (opened < 0 && errno == EEXIST) throw exists_already(file);
    if (opened < 0) throw_file_error(file, "open");
    return opened;
}

} // namespace

growing_file::growing_file(std::filesystem::path file, existing how)
    : file_(std::move(file)), descriptor_(open_at(file_, how)) {
    struct stat status{};
    if (::fstat(descriptor_.number(), &status) != 0) throw_file_error(file_, "examine");
    bytes_ = static_cast<std::uint64_t>(status.st_size);
    cut_partial_line();
}

void growing_file::cut_partial_line() {
    std::uint64_t end = bytes_;
    std::array<char, 4096> read;
    while (end > 0) {
        const std::uint64_t begin = end - std::min<std::uint64_t>(end, read.size());
        const std::size_t count = read_at(
            descriptor_, file_, begin, std::as_writable_bytes(std::span(read).first(end - begin)));
        const auto newline = std::string_view(read.data(), count).rfind('\n');
        end = newline == std::string_view::npos ? begin : begin + newline + 1;
        if (newline != std::string_view::npos) break;
    }
    if (end == bytes_) return;
    if (::ftruncate(descriptor_.number(), static_cast<off_t>(end)) != 0)
        throw_file_error(file_, "shorten");
    bytes_ = end;
}

void growing_file::append(std::string_view lines) {
    const std::uint64_t before = bytes_;
    while (!lines.empty()) {
        const ssize_t written = ::write(descriptor_.number(), lines.data(), lines.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            const int reason = written == 0 ? ENOSPC : errno;
            // If that fails too, half a line stays at the end until the file is continued.
            if (::ftruncate(descriptor_.number(), static_cast<off_t>(before)) == 0) bytes_ = before;
            errno = reason;
            throw_file_error(file_, "write");
        }
        bytes_ += static_cast<std::uint64_t>(written);
        lines.remove_prefix(static_cast<std::size_t>(written));
    }
}

ticker::ticker(const char* name, std::chrono::milliseconds pace, std::function<void()> tick)
    : tick_(std::move(tick)), thread_(background_thread(name, [this, pace] { run(pace); })) {}

ticker::~ticker() {
    {
        const std::lock_guard lock(mutex_);
        end_ = true;
    }
    ended_.notify_all();
    thread_.join();
}

void ticker::run(std::chrono::milliseconds pace) {
    auto next = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    for (bool last = false; !last;) {
        next = std::max(next + pace, std::chrono::steady_clock::now());
        last = ended_.wait_until(lock, next, [&] { return end_; });
        lock.unlock();
        tick_();
        lock.lock();
    }
}

} // namespace chainbase::trace
