#include <undo/session_changes.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace chainbase {

namespace {

/// Calls visit(offset into the span, address, length) for the part of the span in each page.
template <typename Visitor>
void each_page(std::uintptr_t address, std::size_t bytes, std::size_t page_bytes, Visitor&& visit) {
    for (std::size_t done = 0; done < bytes;) {
        const std::uintptr_t at = address + done;
        const std::size_t now = std::min(bytes - done, page_bytes - at % page_bytes);
        visit(done, at, now);
        done += now;
    }
}

} // namespace

session_changes::session_changes(const undo_log& log, log_position begin) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, touched_object> seen;
    const std::byte* range = log.addresses().base();
    const std::size_t window_bytes = log.addresses().window_bytes();

    // Newest first: the first record met of an object tells whether it exists now, the last one
    // whether it existed when the session began.
    const auto meet = [&](record_trailer trailer, const std::byte* body) {
        std::uint32_t id = 0;
        std::memcpy(&id, body, sizeof id);
        const auto window = static_cast<std::uint32_t>(trailer.offset() / window_bytes);
        const bool exists = trailer.kind() != record_kind::removed;
        const auto met = seen.try_emplace({window, id}, window, id, false, exists, nullptr).first;
        met->second.existed = trailer.kind() != record_kind::created;
        met->second.value_before = range + trailer.offset();
    };
    log.each_record_down_to(begin, [&](record_trailer trailer, const std::byte* body) {
        if (trailer.kind() == record_kind::mark) return;
        if (trailer.kind() != record_kind::words) meet(trailer, body);
        if (trailer.restores()) put_back(range + trailer.offset(), {body, trailer.bytes()});
    });
    for (const auto& [key, object] : seen)
        if (object.existed || object.exists) objects_.push_back(object);
}

session_changes::page& session_changes::page_of(std::uintptr_t address) {
    const std::uintptr_t begin = address - address % page_bytes;
    std::unique_ptr<page>& found = pages_[begin];
    if (!found) {
        found = std::make_unique<page>();
        std::memcpy(found->data(), reinterpret_cast<const std::byte*>(begin), page_bytes);
    }
    return *found;
}

void session_changes::put_back(const std::byte* address, std::span<const std::byte> bytes) {
    each_page(reinterpret_cast<std::uintptr_t>(address), bytes.size(), page_bytes,
              [&](std::size_t done, std::uintptr_t at, std::size_t now) {
                  std::memcpy(page_of(at).data() + at % page_bytes, bytes.data() + done, now);
              });
}

void session_changes::before(const std::byte* address, std::span<std::byte> out) const {
    each_page(reinterpret_cast<std::uintptr_t>(address), out.size(), page_bytes,
              [&](std::size_t done, std::uintptr_t at, std::size_t now) {
                  const auto found = pages_.find(at - at % page_bytes);
                  const std::byte* from = found == pages_.end()
                                              ? reinterpret_cast<const std::byte*>(at)
                                              : found->second->data() + at % page_bytes;
                  std::memcpy(out.data() + done, from, now);
              });
}

std::vector<object_place> touched_objects(const undo_log& log, log_position begin) {
    std::vector<std::uint64_t> touched; // in the order of object_place, as one number
    const std::size_t window_bytes = log.addresses().window_bytes();
    log.each_record_down_to(begin, [&](record_trailer trailer, const std::byte* body) {
        if (trailer.kind() == record_kind::mark || trailer.kind() == record_kind::words) return;
        std::uint32_t id = 0;
        std::memcpy(&id, body, sizeof id);
        touched.push_back(std::uint64_t{trailer.offset() / window_bytes} << 32 | id);
    });
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    std::vector<object_place> places;
    places.reserve(touched.size());
    for (const std::uint64_t one : touched)
        places.push_back({static_cast<std::uint32_t>(one >> 32), static_cast<std::uint32_t>(one)});
    return places;
}

} // namespace chainbase
