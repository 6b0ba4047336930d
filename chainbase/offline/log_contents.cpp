#include <chainbase/offline/log_contents.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

namespace chainbase {

/// Collects the records of one part, the newest first.
class log_contents::reader {
public:
    explicit reader(std::uint64_t window_bytes) noexcept : window_bytes_(window_bytes) {}

    void add(record_trailer trailer, const std::byte* body) {
        const std::uint64_t bytes = sizeof trailer + trailer.bytes();
        ++part_.records;
        if (trailer.kind() == record_kind::mark) {
            ++part_.marks;
            part_.mark_bytes += bytes;
            return;
        }
        const auto index = static_cast<std::uint32_t>(trailer.offset() / window_bytes_);
        logged_window& window = windows_[index];
        ++window.records;
        window.bytes += bytes;
        if (trailer.kind() != record_kind::words) touch(index, trailer.kind(), body);
    }

    /// Returns the part collected, of `bytes` bytes of the log, and starts another one.
    [[nodiscard]] logged_part finish(std::uint64_t bytes) {
        count_objects();
        part_.bytes = bytes;
        part_.unused_bytes = bytes - part_.mark_bytes;
        for (auto& [index, window] : windows_) {
            window.window = index;
            part_.unused_bytes -= window.bytes;
            part_.windows.push_back(window);
        }
        windows_.clear();
        touched_.clear();
        return std::exchange(part_, {});
    }

private:
    struct touched {
        std::uint32_t window;
        std::uint32_t id;
        record_kind how;
    };

    void touch(std::uint32_t window, record_kind how, const std::byte* body) {
        std::uint32_t id = 0;
        std::memcpy(&id, body, sizeof id);
        touched_.push_back({window, id, how});
    }

    /// The first record met of an object tells whether it exists after the part, the last one
    /// whether it existed before.
    void count_objects() {
        const auto object = [](const touched& one) { return std::tie(one.window, one.id); };
        std::ranges::stable_sort(touched_, {}, object);
        for (auto at = touched_.begin(); at != touched_.end();) {
            const auto end = std::find_if(
                at, touched_.end(), [&](const touched& one) { return object(one) != object(*at); });
            const bool exists = at->how != record_kind::removed;
            const bool existed = std::prev(end)->how != record_kind::created;
            ++counter(windows_[at->window], existed, exists);
            at = end;
        }
    }

    static std::uint64_t& counter(logged_window& of, bool existed, bool exists) noexcept {
        if (existed) return exists ? of.modified : of.removed;
        return exists ? of.created : of.created_and_removed;
    }

    std::uint64_t window_bytes_;
    logged_part part_;
    std::map<std::uint32_t, logged_window> windows_;
    std::vector<touched> touched_;
};

log_contents::log_contents(const window& file, std::uint64_t window_bytes)
    : log_walk(file), base_(file.base()), window_bytes_(window_bytes) {
    read_operation();
    if (has_session()) read_sessions();
}

void log_contents::read_operation() {
    reader records(window_bytes_);
    each_record_down_to(completed(), [&](record_trailer trailer, const std::byte* body) {
        records.add(trailer, body);
    });
    operation_ = records.finish(distance(completed(), words().tail));
}

void log_contents::read_sessions() {
    reader records(window_bytes_);
    std::uint64_t not_of_sessions = operation_.records;
    log_position mark = words().newest;
    log_position end = completed();
    each_record_down_to(words().oldest, [&](record_trailer trailer, const std::byte* body) {
        if (not_of_sessions != 0) {
            --not_of_sessions;
            return;
        }
        records.add(trailer, body);
        if (body != base_ + mark) return;
        const session_mark found = mark_at(mark);
        sessions_.push_back({found.revision, found.state == session_mark::open,
                             records.finish(distance(mark, end))});
        end = mark;
        mark = found.previous;
    });
    std::ranges::reverse(sessions_);
}

} // namespace chainbase
