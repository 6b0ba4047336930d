#include <tests/support/snapshot.hpp>
#include <tests/support/window_parts.hpp>

#include <algorithm>
#include <cstring>

namespace chainbase::test {

snapshot::snapshot(const segment& from) {
    for (const window_part& used : parts_in_use(from)) {
        const std::byte* begin = used.file->base() + used.begin;
        parts_.push_back({used.file->name(), used.bytes});
        content_.insert(content_.end(), begin, begin + used.bytes);
    }
}

bool operator==(const snapshot& a, const snapshot& b) {
    return a.content_.size() == b.content_.size() &&
           std::memcmp(a.content_.data(), b.content_.data(), a.content_.size()) == 0;
}

std::string snapshot::difference(const snapshot& other) const {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < std::min(parts_.size(), other.parts_.size()); ++i) {
        const part& here = parts_[i];
        const part& there = other.parts_[i];
        if (here.bytes != there.bytes)
            return here.file + ": " + std::to_string(here.bytes) + " bytes in use, " +
                   std::to_string(there.bytes) + " in the other";
        for (std::size_t at = 0; at < here.bytes; ++at)
            if (content_[begin + at] != other.content_[begin + at])
                return here.file + ": offset " + std::to_string(at);
        begin += here.bytes;
    }
    return parts_.size() == other.parts_.size() ? "" : "number of windows";
}

} // namespace chainbase::test
