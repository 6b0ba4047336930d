#pragma once

#include <archive/open_archive.hpp>
#include <chainbase/offline/backup.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/state_files.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

/// A chain whose notes go to an archive of any kind, for tests of state and archive together.
namespace chainbase::test {

inline constexpr revision_number notes_written = 60;
inline constexpr revision_number last_block = 90;
inline constexpr revision_number lag = 3;

/// RocksDB keeps threads, which a fork loses, so only child processes open one.
class pair_of_state_and_archive {
public:
    explicit pair_of_state_and_archive(const std::filesystem::path& folder,
                                       std::optional<archive::store_kind> kind = {})
        : state(folder, options()), rows(opened(state, folder, kind)),
          all((state.add_type<note>("note"), state), *rows, "note") {}

    static open_options options() {
        open_options how = small_state();
        how.durability = durability::checkpoint;
        how.checkpoints = {std::chrono::milliseconds(0), 7};
        return how;
    }

    static std::unique_ptr<archive::store> opened(database& state,
                                                  const std::filesystem::path& folder,
                                                  std::optional<archive::store_kind> kind) {
        archive::store_options how;
        how.ingest_rows = 3; // some batches are ingested, others are not
        return archive::open_archive(state, folder / "archive", kind, how);
    }

    /// Block n: writes a note while any are left, retires one that is due, hands over.
    void apply(revision_number number) {
        session block = state.start_session();
        all.hand_over(state.committed_revision(), number % 5 == 0 ? 4 : 1);
        if (number <= notes_written) {
            const auto name = "note " + std::to_string(number);
            write(state, "alice", name, number);
        }
        const auto due = static_cast<std::uint32_t>(number - 5);
        if (number >= 5 && number % 3 != 0 && number - 5 < notes_written)
            all.retire(state.get<note>(id<note>(due)));
        block.push();
        if (state.revision() > lag) state.commit(state.revision() - lag);
    }
    void run_to(revision_number last) {
        while (state.revision() < last)
            apply(state.revision() + 1);
    }
    /// With a checkpoint.
    void close() {
        state.make_checkpoint();
        rows.reset();
        state.close();
    }

    /// Every note written by now is found by every key, and nothing else.
    void check() const {
        const auto written = std::min(state.revision(), notes_written);
        for (revision_number n = 1; n <= written; ++n) {
            const auto number = id<note>(static_cast<std::uint32_t>(n - 1));
            const auto by_number = all.find(number);
            const auto by_name = all.find<by_title>("alice", "note " + std::to_string(n));
            if (!by_number || !by_name || by_name->id() != number)
                throw error("note " + std::to_string(n) + " is lost");
            if (by_number->get<&note::weight>() != n) throw error("another content");
        }
        if (all.find(id<note>(static_cast<std::uint32_t>(written)))) throw error("one too many");
        if (all.in_memory() + all.archived() != static_cast<std::size_t>(written))
            throw error("the counts do not add up");
    }

    database state;
    std::unique_ptr<archive::store> rows;
    notes all;
};

/// The digest of an undisturbed run after so many blocks.
inline std::string digest_after(revision_number blocks) {
    const scratch_folder folder;
    REQUIRE(succeeds_in_child([&] {
        pair_of_state_and_archive one(folder / "state", archive::store_kind::none);
        one.run_to(blocks);
        write_all(folder / "digest", digest_of(one.all));
    }));
    const std::string digest = read_all(folder / "digest");
    REQUIRE(digest.size() == 64);
    return digest;
}

inline void require_digest(const pair_of_state_and_archive& of, const std::string& expected) {
    if (digest_of(of.all) != expected) throw error("another digest");
}

/// Makes a state of so many blocks, closed.
inline void make_pair(const std::filesystem::path& folder, archive::store_kind kind,
                      revision_number blocks) {
    REQUIRE(succeeds_in_child([&] {
        pair_of_state_and_archive one(folder, kind);
        one.run_to(blocks);
        one.close();
    }));
}

/// Opens it in another process: it is after so many blocks, and continues to the same end.
inline void check_pair(const std::filesystem::path& folder, revision_number blocks) {
    const std::string now = digest_after(blocks);
    const std::string at_end = digest_after(last_block);
    CHECK(succeeds_in_child([&] {
        pair_of_state_and_archive one(folder);
        if (one.state.revision() != blocks) throw error("of another block");
        one.check();
        require_digest(one, now);
        one.run_to(last_block);
        one.check();
        require_digest(one, at_end);
        one.close();
    }));
}

} // namespace chainbase::test
