#pragma once

#include <pool_allocator/pool.hpp>
#include <pool_allocator/window.hpp>

#include <memory>
#include <string>
#include <vector>

namespace chainbase {

/// The windows of one type, mapped; owned by the segment.
struct type_windows {
    std::string name;
    std::unique_ptr<window> objects;
    std::unique_ptr<window> ids;
    std::vector<std::unique_ptr<window>> tables; ///< of its hashed keys, in declaration order
    bool created = false;                        ///< new in this process: to be initialised
};

/// What the database does with all types alike.
class index_base {
public:
    explicit index_base(std::string name) : name_(std::move(name)) {}
    virtual ~index_base() = default;

    [[nodiscard]] const std::string& type_name() const noexcept { return name_; }

    /// Moves objects from the end into free slots and gives the space back. Requires that nothing
    /// can be undone; references to objects become invalid. Throws out_of_space_error.
    virtual void compact() = 0;

private:
    std::string name_;
};

} // namespace chainbase
