#pragma once

#include <chainbase/offline/snapshot_file/folder.hpp>

#include <catch2/catch.hpp>
#include <tests/snapshot_file/sample_rows.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Small states as a program writes them to a folder.
namespace chainbase::test {

using namespace chainbase::snapshot_file;

using types = std::map<std::string, sample_rows>;

/// Two small types that have the same rows, one in four chunks, and one without.
inline types sample_types() {
    random_source random(31);
    types all;
    for (std::uint32_t id = 0; id < 20; ++id)
        all["account"][id * 3] = random_row(random, 50);
    all["account_too"] = all["account"];
    for (std::uint32_t id = 0; id < 5; ++id)
        all["post"][id * 1000] = {archive::byte_buffer(5 << 20, static_cast<std::byte>(id))};
    all["vote"] = {};
    return all;
}

inline std::vector<piece> pieces_of(const sample_rows& rows) {
    std::vector<piece> chunks;
    chunk_plan plan([&](piece one) { chunks.push_back(std::move(one)); });
    plan.add(piece::of({0, 32}, content_in(rows, {0, 32})));
    plan.finish(height_of(rows));
    return chunks;
}

/// The chunks of some types, computed once.
class sample_state {
public:
    explicit sample_state(const types& all) {
        for (const auto& [name, rows] : all) {
            type_entry& type = manifest_.types.emplace_back();
            type.schema.name = name;
            type.schema.value_bytes = 4;
            type.schema.fields = {{"id", "id", 0, 4}};
            type.objects = rows.size();
            type.next_id = rows.empty() ? 1 : rows.rbegin()->first + 1;
            type.height = height_of(rows);
            type.is_committed = true;
            pieces_.push_back(pieces_of(rows));
            for (const piece& one : pieces_.back())
                type.archived += one.content.archived();
        }
        manifest_.archive = "rocksdb";
    }

    /// What a program does that writes a snapshot.
    manifest write(folder_writer& to) const {
        manifest all = manifest_;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            for (const piece& one : pieces_[i])
                all.types[i].chunks.push_back(to.put(one));
            all.types[i].root = all.types[i].computed_root();
        }
        all.state_root = all.computed_state_root();
        to.finish(all);
        return all;
    }
    void require_in(const folder_reader& from) const {
        REQUIRE(from.manifest().types.size() == pieces_.size());
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            const type_entry& type = from.manifest().types[i];
            REQUIRE(type.chunks.size() == pieces_[i].size());
            for (std::size_t n = 0; n < type.chunks.size(); ++n)
                REQUIRE(archive::same(from.content(type, type.chunks[n]),
                                      pieces_[i][n].content.bytes()));
        }
    }

private:
    manifest manifest_; ///< without chunks
    std::vector<std::vector<piece>> pieces_;
};

inline const sample_state& sample() {
    static const sample_state state(sample_types());
    return state;
}
/// Of small chunks only, for tests that write it hundreds of times.
inline const sample_state& small_sample() {
    static const sample_state state([] {
        types all = sample_types();
        all.erase("post");
        all["witness"][7] = {archive::byte_buffer(100)};
        return all;
    }());
    return state;
}

inline std::set<std::string> names_below(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        names.insert(entry.path().lexically_relative(folder));
    return names;
}

inline std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream from(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(from), {}};
}
inline void store(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
}

inline std::filesystem::path chunk_file_in(const std::filesystem::path& folder,
                                           const chunk_entry& one) {
    return folder / "chunks" / hex(one.digest);
}

} // namespace chainbase::test
