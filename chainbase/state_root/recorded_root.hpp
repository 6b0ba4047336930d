#pragma once

#include <chainbase/fixed_string.hpp>
#include <chainbase/id.hpp>
#include <chainbase/keys.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <string_view>

/// What a state that has a root keeps of it: objects, under the same undo as those that the root
/// commits to.
namespace chainbase::state_root {

/// The form of roots and proofs that FORMAT.md describes.
inline constexpr std::uint32_t current_format = 4;

/// One object: the root that was recorded last.
struct recorded_root {
    static constexpr const char* type_name = "state_root.recorded";

    chainbase::id<recorded_root> id;
    std::uint32_t format = current_format;
    std::int64_t revision = -1; ///< of the state that has this root
    std::uint64_t objects = 0;  ///< that it commits to
    sha256_digest root{};

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(recorded_root, (), (id, format, revision, objects, root))

/// A type whose objects the recorded root commits to, and the tree of these.
struct committed_type {
    static constexpr const char* type_name = "state_root.committed";

    chainbase::id<committed_type> id;
    fixed_string<128> name;
    std::uint32_t height = 0; ///< id_tree::height()
    std::uint64_t objects = 0;
    sha256_digest root{}; ///< id_tree::root()

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(committed_type, (), (id, name, height, objects, root))

/// Whether a type has what is kept of a root, which is made anew where records change.
[[nodiscard]] inline bool is_of_root(std::string_view type) {
    return type == recorded_root::type_name || type == committed_type::type_name;
}

} // namespace chainbase::state_root
