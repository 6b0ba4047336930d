#pragma once

#include <archive/lifecycle.hpp>
#include <archive/state_digest.hpp>

#include <string>
#include <string_view>

namespace chainbase::test {

struct by_title;
struct by_weight;
struct by_author;

/// An object that is written, weighed, finished and archived.
struct note {
    chainbase::id<note> id;
    fixed_string<16> author;
    shared_string title;
    std::int64_t weight = 0;
    shared_vector<std::uint32_t> marks;

    using keys = chainbase::keys<hashed_unique<by_title, &note::author, &note::title>,
                                 ordered_unique<by_weight, descending<&note::weight>, &note::id>,
                                 ordered_non_unique<by_author, &note::author>>;
    using archived_by = archive::tags<by_title, by_weight, by_author>;
};
BOOST_DESCRIBE_STRUCT(note, (), (id, author, title, weight, marks))

using notes = archive::lifecycle<note>;

inline open_options small_state() {
    open_options options;
    options.sync = false;
    options.durability = durability::process;
    options.advise = false;
    options.window_bytes = std::size_t{64} << 20;
    return options;
}

inline const note& write(database& state, std::string_view author, std::string_view title,
                         std::int64_t weight = 0) {
    return state.create<note>([&](note& one) {
        one.author = author;
        one.title = title;
        one.weight = weight;
        const std::uint32_t marks[] = {7, static_cast<std::uint32_t>(weight)};
        one.marks = std::span<const std::uint32_t>(marks);
    });
}

inline std::string digest_of(const notes& all) {
    archive::state_digest digest;
    digest.add(all);
    return digest.hex();
}

} // namespace chainbase::test
