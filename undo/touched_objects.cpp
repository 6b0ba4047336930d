#include <undo/touched_objects.hpp>

#include <algorithm>
#include <cstring>

namespace chainbase {

std::vector<object_place> touched_objects(const undo_log& log, log_position begin) {
    std::vector<object_place> touched;
    const std::size_t window_bytes = log.addresses().window_bytes();
    log.each_record_down_to(begin, [&](record_trailer trailer, const std::byte* body) {
        if (trailer.kind() == record_kind::mark || trailer.kind() == record_kind::words) return;
        object_place one{static_cast<std::uint32_t>(trailer.offset() / window_bytes), 0};
        std::memcpy(&one.id, body, sizeof one.id);
        touched.push_back(one);
    });
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    return touched;
}

} // namespace chainbase
