#pragma once

#include <archive/record/bytes.hpp>
#include <archive/record/integers.hpp>
#include <tools/sink/database.hpp>
#include <tools/sink/table/table.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/random_records.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace chainbase::test {

using namespace chainbase::sink; // NOLINT: these are tests of it

/// The rows of a table by id, as they should be.
using model = std::map<std::uint32_t, archive::byte_buffer>;

inline cursor cursor_at(feed::feed_position at, revision_number revision, bool is_ready = true) {
    cursor made;
    made.is_ready = is_ready;
    made.state = "0123456789abcdef0123456789abcdef";
    made.at = at;
    made.revision = revision;
    made.serial = static_cast<std::uint32_t>(revision % 7);
    made.epoch = 1;
    return made;
}

inline void put(batch& to, const table& of, std::uint32_t id, const archive::byte_buffer& record) {
    if (to.tables.empty() || to.tables.back().of != &of) to.tables.push_back({&of, {}, {}});
    const std::size_t begin = to.records.size();
    archive::append(to.records, record);
    to.tables.back().changes.push_back({row_change::kind::put, id, begin, to.records.size()});
}

inline void change(batch& to, const table& of, std::uint32_t id, row_change::kind what) {
    if (to.tables.empty() || to.tables.back().of != &of) to.tables.push_back({&of, {}, {}});
    to.tables.back().changes.push_back({what, id, 0, 0});
}

/// All rows, as records; each with the values that it came with.
inline model rows_of(database_link& link, const table& of) {
    model found;
    row_record back(of);
    std::optional<std::uint32_t> before;
    const table* const all[] = {&of};
    link.read(
        all, [](const cursor&) {},
        [&](const table& in, std::span<const value> row) {
            REQUIRE(&in == &of);
            const auto id = static_cast<std::uint32_t>(row[0].as_int64());
            REQUIRE((!before || *before < id));
            before = id;
            const archive::bytes_view record = back.make(row);
            found[id] = {record.begin(), record.end()};
        });
    return found;
}

inline const table& thing() {
    static const table of(every_kind());
    return of;
}

/// Of an id and a number.
inline const type_schema& counter_schema() {
    static const type_schema made = schema_with("counter", {{"id", "id"}, {"number", "u32"}});
    return made;
}
inline const table& counter() {
    static const table of(counter_schema());
    return of;
}
inline archive::byte_buffer counter_record(std::uint32_t id, std::uint32_t number) {
    archive::byte_buffer made(12);
    archive::detail::store_little(made.data(), counter().fingerprint());
    archive::detail::store_little(made.data() + 4, id);
    archive::detail::store_little(made.data() + 8, number);
    return made;
}

template <typename Error>
std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& problem) {
        return problem.what();
    }
    FAIL("nothing was thrown");
    return {};
}

} // namespace chainbase::test
