#pragma once

#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/account_block.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/checkpoints_on_disk.hpp>
#include <tests/support/loaded_copy.hpp>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

namespace chainbase::test {

/// A state in a folder of its own, and chainbase-inspect with it.
struct made_state {
    made_state() = default;
    /// In a folder `place` that lasts as long, not in memory.
    explicit made_state(std::filesystem::path place) : elsewhere(std::move(place)) {}

    [[nodiscard]] std::string path() const {
        return ((elsewhere.empty() ? folder.path() : elsewhere) / "state").string();
    }
    [[nodiscard]] outcome run(const std::string& verb, const std::string& rest = "") const {
        return inspect_with(verb + " " + path() + " " + rest + " 2>&1");
    }
    [[nodiscard]] nlohmann::json report(const std::string& verb,
                                        const std::string& rest = "") const {
        const outcome result = inspect_with(verb + " " + path() + " --json " + rest);
        INFO(result.output);
        return nlohmann::json::parse(result.output);
    }
    /// All objects; as text, which is the same wherever they lie.
    [[nodiscard]] std::string content() const {
        const outcome result = inspect_with("dump " + path());
        REQUIRE(result.code == 0);
        return result.output;
    }
    void require_sound() const {
        const outcome result = run("check");
        INFO(result.output);
        REQUIRE(result.code == 0);
    }

    scratch_folder folder;
    std::filesystem::path elsewhere;
};

struct sample : made_state {
    sample() { build_sample_state(path()); }
};

/// Accounts in a state that makes checkpoints.
struct with_checkpoint : made_state {
    explicit with_checkpoint(std::uint32_t accounts = 300) {
        database db(path(), with_checkpoints());
        db.add_type<account>("account");
        add_accounts(db, accounts);
        for (std::uint32_t n = 0; n < accounts; n += 2)
            db.remove(db.get(id<account>(n)));
    }
};

/// Flips a bit in a word that lies at an offset of a file of the segment.
inline void damage(const made_state& of, const char* file, std::uint64_t offset) {
    flip_bit(std::filesystem::path(of.path()) / "segment" / file, 8 * offset + 5);
}

/// Where the links of the first key of an account are in the file of its slot.
inline std::uint64_t account_links(const made_state& of, slot_number slot) {
    const type_schema schema =
        catalogue::read(std::filesystem::path(of.path()) / "segment").find("account")->schema;
    return window_header::page_bytes + std::uint64_t{slot} * schema.node_bytes +
           schema.value_offset - 12;
}

/// Where the handle of a field of a post is in its file.
inline std::uint64_t post_field(const made_state& of, std::uint32_t id, const std::string& name) {
    const state_rows rows(of.path());
    for (std::size_t number = 0; number < rows.types().size(); ++number) {
        const type_schema& schema = rows.types()[number].schema;
        if (schema.name != "post") continue;
        const slot_number slot = rows.of(number).slots().slot_of(id);
        for (const type_schema::field& field : schema.fields)
            if (field.name == name)
                return window_header::page_bytes + std::uint64_t{slot} * schema.node_bytes +
                       schema.value_offset + field.offset;
    }
    throw std::runtime_error("no such post");
}

} // namespace chainbase::test
