// A log with altered words, marks, chunks or records: recovery refuses it before it writes
// anything, or is not affected.

#include <pool_allocator/base/error.hpp>
#include <undo/log_check.hpp>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <tests/support/one_type.hpp>
#include <tests/support/state_files.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace {

/// A state that a dying writer left: 200 objects, a pushed session and an open one, both changing
/// all of them more than once, and with more log than a chunk holds.
void leak(const std::filesystem::path& state) {
    const pid_t child = fork();
    if (child == 0) {
        auto* db = new database(state, quick_options());
        db->add_type<item>("thing");
        for (std::uint32_t k = 0; k < 200; ++k)
            db->create<item>([&](item& t) { t.key = k; });
        for (int round = 0; round < 2; ++round) {
            auto* session = new chainbase::session(db->start_session());
            for (std::uint32_t turn = 0; turn < 50; ++turn)
                for (const item& t : db->objects<item>())
                    db->modify(t, [&](item& target) { target.key += 200; });
            if (round == 0) session->push();
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

/// The file of the log, to be altered.
class log_image {
public:
    explicit log_image(std::filesystem::path file)
        : file_(std::move(file)), content_(read_all(file_)) {}

    template <typename T>
    [[nodiscard]] T at(std::uint64_t offset) const {
        T value;
        std::memcpy(&value, content_.data() + offset, sizeof value);
        return value;
    }
    template <typename T>
    void put(std::uint64_t offset, T value) {
        std::memcpy(content_.data() + offset, &value, sizeof value);
    }
    [[nodiscard]] log_words words() const { return at<log_words>(sizeof(window_header)); }
    void put_words(const log_words& words) { put(sizeof(window_header), words); }
    void write() const { write_all(file_, content_); }

private:
    std::filesystem::path file_;
    std::string content_;
};

constexpr std::uint64_t first_header = window_header::page_bytes;
constexpr std::uint64_t second_header = first_header + undo_log::chunk_bytes;

} // namespace

TEST_CASE("an altered log is refused by file and offset, and nothing is written") {
    const scratch_folder folder;
    const auto state = folder / "state";
    leak(state);
    const state_image whole(state);
    const auto file = state / "segment/undo_log";
    const log_image sound(file);
    REQUIRE(sound.words().chunks.live > 1);
    const auto refused = [&](const char* what, const std::function<void(log_image&)>& alter) {
        INFO(what);
        log_image altered = sound;
        alter(altered);
        altered.write();
        const state_image before(state);
        CHECK_THROWS_AS(database(state, quick_options()), damaged_error);
        const std::string said =
            message_of<damaged_error>([&] { database db(state, quick_options()); });
        CHECK_THAT(said, Contains("undo_log") && Contains("restore the folder"));
        CHECK(state_image(state) == before);
        whole.restore();
    };
    const auto word = [&](const char* what, const std::function<void(log_words&)>& alter) {
        refused(what, [&](log_image& image) {
            log_words words = image.words();
            alter(words);
            image.put_words(words);
        });
    };
    word("newest in the header page", [](log_words& w) { w.newest = 64; });
    word("newest beyond the file", [](log_words& w) { w.newest = std::uint64_t{1} << 40; });
    word("newest on no mark", [](log_words& w) { w.newest += 8; });
    word("oldest on no mark", [](log_words& w) { w.oldest += 4; });
    word("oldest beyond the file", [](log_words& w) { w.oldest = ~std::uint64_t{0}; });
    word("tail within a record", [](log_words& w) { w.tail -= 4; });
    word("tail in a chunk's header", [](log_words& w) { w.tail = second_header + 8; });
    word("completed is odd", [](log_words& w) { w.completed += 1; });
    word("no chunk in use", [](log_words& w) { w.chunks.high_water = 0; });

    const log_words words = sound.words();
    refused("a session's revision", [&](log_image& image) {
        image.put<revision_number>(words.newest + offsetof(session_mark, revision), 77);
    });
    refused("a session's state", [&](log_image& image) {
        image.put<std::uint32_t>(words.newest + offsetof(session_mark, state), 2);
    });
    refused("the session below", [&](log_image& image) {
        image.put<log_position>(words.newest + offsetof(session_mark, previous), 12);
    });
    refused("a chunk's sequence",
            [&](log_image& image) { image.put<std::uint64_t>(second_header + 16, 9); });
    refused("a chunk's previous end", [&](log_image& image) {
        image.put<log_position>(second_header + 8, second_header + 100);
    });

    const std::uint64_t trailer = words.tail - 8;
    const auto bits = sound.at<std::uint64_t>(trailer);
    const std::uint64_t window = quick_options().window_bytes;
    for (const std::uint64_t offset : {std::uint64_t{4096}, 26 * window, 26 * window + 32,
                                       27 * window - 4, 100 * window, std::uint64_t{1} << 45})
        refused("where a record belongs", [&](log_image& image) {
            image.put(trailer, (bits & ~((std::uint64_t{1} << 44) - 1)) | offset >> 2);
        });
    refused("a record's length",
            [&](log_image& image) { image.put(trailer, bits | std::uint64_t{0xFFFF} << 44); });
    refused("a record's kind",
            [&](log_image& image) { image.put(trailer, bits | std::uint64_t{0xF} << 60); });

    database db(state, quick_options());
    db.add_type<item>("thing");
    CHECK(db.revision() == 1);
    CHECK(db.find<item, by_key>(200U * 50) != nullptr);
    db.undo();
    CHECK(db.find<item, by_key>(0U) != nullptr);
}

TEST_CASE("a flipped bit anywhere in the log that recovery reads kills nothing") {
    const scratch_folder folder;
    const auto state = folder / "state";
    leak(state);
    const state_image whole(state);
    const auto file = state / "segment/undo_log";
    const std::string content = read_all(file);
    const auto end = log_image(file).words().tail;
    for (std::uint64_t at = window_header::page_bytes; at < end; at += 10'007) {
        write_at(file, at, std::string(1, static_cast<char>(content[at] ^ 0x41)));
        const pid_t child = fork();
        if (child == 0) {
            try {
                database db(state, quick_options());
            } catch (const damaged_error&) {
                _exit(1);
            }
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        INFO("offset " << at);
        CHECK(WIFEXITED(status));
        whole.restore();
    }
}

TEST_CASE("altered records of pushed sessions are refused where all are looked at") {
    const scratch_folder folder;
    const auto state = folder / "state";
    leak(state);
    database db(state, quick_options());
    db.add_type<item>("thing");
    auto block = db.start_session();
    db.modify(*db.objects<item>().begin(), [](item& target) { target.key = 77'777; });
    block.push();
    const undo_log& log = *db.memory().log();
    const auto count = [&] {
        log_check all(db.memory().addresses(), db.memory().log_file());
        all.require_sound();
        return all.require_all_records();
    };
    const std::uint64_t whole = count();

    struct place {
        std::byte* trailer;
        record_trailer content;
    };
    std::vector<place> records; // from the newest one down
    log.each_record_down_to(log.words().oldest, [&](record_trailer trailer, const std::byte* body) {
        records.push_back({const_cast<std::byte*>(body) + trailer.bytes(), trailer});
    });
    REQUIRE(records.size() == whole);
    const auto refused = [&](const place& one, record_trailer forged) {
        std::memcpy(one.trailer, &forged, sizeof forged);
        CHECK_THROWS_AS(count(), damaged_error);
        std::memcpy(one.trailer, &one.content, sizeof one.content);
    };
    const place& oldest = records[records.size() - 2]; // the last one is the mark
    refused(oldest, record_trailer::make(100 * quick_options().window_bytes, oldest.content.bytes(),
                                         record_kind::words));
    const auto mark = std::ranges::find(records, record_kind::mark,
                                        [](const place& one) { return one.content.kind(); });
    REQUIRE(mark != records.begin());
    const place& first = *(mark - 1); // of the newest session: it reaches over its mark
    const std::uint64_t over = first.content.bytes() + mark->content.bytes() +
                               (mark + 1)->content.bytes() + 2 * sizeof(record_trailer);
    refused(first, record_trailer::make(first.content.offset(), over, first.content.kind()));
    CHECK(count() == whole);
    db.undo_all();
    CHECK(db.find<item, by_key>(0U) != nullptr);
}
