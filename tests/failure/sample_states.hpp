#pragma once

#include <chainbase/database.hpp>

#include <tests/support/one_type.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/state_files.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// States for tests of damage and of limits.
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

/// The expected notes of a state.
struct note_model {
    struct content {
        std::uint32_t weight;
        std::string title;
        bool operator==(const content&) const = default;
    };
    std::map<std::uint32_t, content> notes; ///< by id

    /// Reads the notes of `db`, which must be equal by each key. Throws mismatch.
    static note_model of(const database& db);
    /// One random change of the database and of the model, with titles of less than 2^`bits` bytes.
    /// Without space for it, neither changes.
    void change_one(database& db, random_source& random, std::uint32_t bits);
    bool operator==(const note_model&) const = default;
};

/// Blocks of random changes of notes, one session each, of which the last few can be popped, beside
/// a naive model. A block without enough space is undone as a whole.
class note_chain {
public:
    explicit note_chain(std::uint64_t seed) : random_(seed), models_(1) {}

    /// Applies a block to `db`, or pops one. Returns the message when there was no space for it:
    /// then nothing changed.
    [[nodiscard]] std::optional<std::string> apply(database& db);
    /// Applies blocks until one is refused. Returns the message.
    std::string apply_until_refused(database& db);
    /// Applies so many blocks, refused or not. Returns the number of refused ones.
    std::size_t apply_some(database& db, std::size_t blocks);

    /// Throws mismatch when objects, keys or revision differ from the model.
    void require_same(const database& db) const;

private:
    static constexpr std::size_t lag = 4;

    void apply_block(database& db);
    random_source random_;
    std::vector<note_model> models_; ///< after the last committed block, and those behind it
    revision_number committed_ = 0;
};

/// Makes a state of 40 notes, the last 5 of them in a pushed session.
void make_closed(const std::filesystem::path& state);
/// As make_closed(), but the writer died within one more session that changed every note.
void make_abandoned(const std::filesystem::path& state);
/// As make_abandoned(), but the machine restarted since: there is a checkpoint, and no usable
/// segment.
void make_restarted(const std::filesystem::path& state);
/// Opens the state for writing and compares all notes by id and by each key, undoes the pushed
/// session and compares again. Throws what opening throws; mismatch for a difference.
void open_and_compare(const std::filesystem::path& state);

/// A closed state with a few objects of one type called "thing", to be damaged.
class sample_state {
public:
    sample_state();
    /// Opens it and compares it with the stored objects. Throws what opening throws, and mismatch.
    void open_and_compare() const;

    scratch_folder folder;
    std::filesystem::path path;
};

/// Whether opening the current state fails with an engine exception and changes no file
/// ("refused"), or works with all objects in place ("works"). Throws mismatch otherwise.
verdict open_damaged(const sample_state& state, std::string* said = nullptr);

/// Fills all remaining space with the file `ballast`.
void fill_up(const std::filesystem::path& place);

} // namespace chainbase::test
