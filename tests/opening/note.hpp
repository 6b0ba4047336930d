#pragma once

#include <chainbase/database.hpp>

#include <cstdint>
#include <string>

struct by_title;
struct by_weight;
struct by_author;

/// A type with a key of each structure and a string.
struct note {
    chainbase::id<note> id;
    std::uint32_t weight = 0;
    chainbase::fixed_string<16> author;
    chainbase::shared_string title;

    using keys = chainbase::keys<chainbase::hashed_unique<by_title, &note::title>,
                                 chainbase::ordered_non_unique<by_weight, &note::weight>,
                                 chainbase::hashed_non_unique<by_author, &note::author>>;
};
BOOST_DESCRIBE_STRUCT(note, (), (id, weight, author, title))

inline chainbase::open_options small_windows() {
    chainbase::open_options options;
    options.window_bytes = std::size_t{64} << 20;
    options.windows = 40;
    options.sync = false;
    return options;
}

inline const note& write_note(chainbase::database& db, const std::string& title,
                              std::uint32_t weight, const char* author = "ann") {
    return db.create<note>([&](note& n) {
        n.title = title;
        n.weight = weight;
        n.author = author;
    });
}
