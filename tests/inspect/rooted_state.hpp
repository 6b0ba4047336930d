#pragma once

#include <archive/committed_state.hpp>
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/maintenance_support.hpp>
#include <tests/support/sample_types.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace chainbase::test {

/// A state of accounts and posts that keeps a root, opened.
struct rooted_database {
    explicit rooted_database(const std::filesystem::path& state,
                             const open_options& how = quick_options())
        : db(state, how), root((add_types(db), db), 0) {
        root.add<account>("account");
        root.add<post>("post");
        root.catch_up();
    }
    static void add_types(database& db) {
        db.add_type<account>("account");
        db.add_type<post>("post");
        db.add_type<token>("token"); // is not committed to
    }
    /// A block that the root is told of.
    template <typename Work>
    void block(Work work) {
        session one = db.start_session();
        work();
        root.update(one.revision());
        one.push();
    }
    void add(std::uint32_t accounts, std::uint32_t posts) {
        block([&] {
            for (; accounts > 0; --accounts)
                db.create<account>([&](account& one) {
                    one.number = one.id.value;
                    one.name = std::string_view(std::to_string(one.id.value));
                });
            for (; posts > 0; --posts)
                db.create<post>([&](post& one) {
                    one.permlink = "post-" + std::to_string(one.id.value);
                    one.body = "nothing to say";
                });
            db.create<token>([&](token& one) { one.code = one.id.value; });
        });
        db.commit(db.revision());
    }

    database db;
    archive::committed_state root;
};

/// The same, closed, and chainbase-inspect with it.
struct rooted_state : made_state {
    explicit rooted_state(std::uint32_t accounts = 900, std::uint32_t posts = 100,
                          const open_options& how = quick_options()) {
        rooted_database(path(), how).add(accounts, posts);
    }
    /// Opens it for writing, and closes it.
    void change(const std::function<void(rooted_database&)>& use) const {
        rooted_database open(path());
        use(open);
    }
    /// Changes the tree and nothing else.
    void change_tree(const std::function<void(database&, state_root::merkle_tree&)>& use) const {
        database db(path(), quick_options());
        rooted_database::add_types(db);
        state_root::merkle_tree tree(db);
        session one = db.start_session();
        use(db, tree);
        tree.note_revision();
        one.push();
        db.commit(db.revision());
    }
    [[nodiscard]] nlohmann::json root(const std::string& rest = "") const {
        return report("root", rest);
    }
    [[nodiscard]] nlohmann::json verified() const { return root("--verify").at("verified"); }
};

/// Where in the segment's file of a type's objects the value of an object is.
inline std::uint64_t place_of(const made_state& of, const std::string& type, std::uint32_t id) {
    const state_rows rows(of.path());
    for (std::size_t number = 0; number < rows.types().size(); ++number) {
        const type_schema& schema = rows.types()[number].schema;
        if (schema.name != type) continue;
        const slot_number slot = rows.of(number).slots().slot_of(id);
        return window_header::page_bytes + std::uint64_t{slot} * schema.node_bytes +
               schema.value_offset;
    }
    throw std::runtime_error("no such type");
}

/// Flips a bit of an object that lies at an offset of its value.
inline void flip(const made_state& of, const std::string& type, std::uint32_t id,
                 std::uint64_t offset) {
    const auto file = std::filesystem::path(of.path()) / "segment" / (type + ".objects");
    flip_bit(file, 8 * (place_of(of, type, id) + offset) + 3);
}

/// @name What `root --verify` found
/// @{
/// What is named of one kind.
inline std::vector<nlohmann::json> named(const nlohmann::json& verified, const std::string& kind) {
    std::vector<nlohmann::json> all;
    for (const nlohmann::json& one : verified.at("named"))
        if (one.at("kind") == kind) all.push_back(one);
    return all;
}

/// The only fault of this kind, of which the type is `type`.
inline nlohmann::json only(const nlohmann::json& verified, const std::string& kind,
                           const std::string& type) {
    INFO(verified.dump(1));
    const auto all = named(verified, kind);
    REQUIRE(all.size() == 1);
    CHECK(verified.at("faults_by_kind").at(kind) == 1);
    CHECK(all[0].at("type") == type);
    return all[0];
}

inline void require_sound(const rooted_state& state) {
    const nlohmann::json found = state.root("--verify");
    INFO(found.dump(1));
    CHECK(found.at("verified").at("sound") == true);
    CHECK(found.at("verified").at("faults") == 0);
    CHECK(state.run("root", "--verify").code == 0);
}
/// @}

} // namespace chainbase::test
