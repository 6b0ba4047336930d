#pragma once

#include <chainbase/database.hpp>

#include <cstdint>
#include <string>

namespace chainbase::test {

struct by_title;
struct by_weight;
struct by_author;

/// A type with a key of each structure and a string.
struct note {
    chainbase::id<note> id;
    std::uint32_t weight = 0;
    fixed_string<16> author;
    shared_string title;

    using keys = chainbase::keys<hashed_unique<by_title, &note::title>,
                                 ordered_non_unique<by_weight, &note::weight>,
                                 hashed_non_unique<by_author, &note::author>>;
};
BOOST_DESCRIBE_STRUCT(note, (), (id, weight, author, title))

inline const note& write_note(database& db, const std::string& title, std::uint32_t weight,
                              const char* author = "ann") {
    return db.create<note>([&](note& n) {
        n.title = title;
        n.weight = weight;
        n.author = author;
    });
}

} // namespace chainbase::test
