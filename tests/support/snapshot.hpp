#pragma once

#include <chainbase/segment.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace chainbase::test {

/// A copy of every byte in use in a segment's windows except those of the log (parts_in_use). The
/// oracle of undo: two snapshots with nothing lasting in between are equal.
class snapshot {
public:
    explicit snapshot(const segment& from);

    /// The first difference as "file: offset n", empty if there is none.
    [[nodiscard]] std::string difference(const snapshot& other) const;

    friend bool operator==(const snapshot&, const snapshot&);

private:
    struct part {
        std::string file;
        std::size_t bytes;
    };
    std::vector<part> parts_;
    std::vector<std::byte> content_;
};

} // namespace chainbase::test
