#pragma once

#include <chainbase/database.hpp>

#include <tests/support/one_type.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase::test {

/// A state whose invariants hold only after whole blocks: a block moves value between items and
/// cards at different times, and creates and removes objects on both sides.
class two_sides {
public:
    static constexpr std::uint32_t objects = 40;

    explicit two_sides(const std::filesystem::path& state,
                       const open_options& how = quick_options())
        : db(state, how) {
        db.add_type<item>("item");
        db.add_type<card>("card");
        if (how.mode == open_mode::read_write && db.count<item>() == 0) fill();
    }

    /// Applies the next block under the write lock; commits all but the last two.
    void apply_block(random_source& random) {
        db.with_write_lock([&] { apply_in_lock(random); });
    }
    /// The number of the last block, or nothing when a partial block is visible. Call it under a
    /// lock.
    [[nodiscard]] std::optional<std::uint32_t> height() const {
        std::uint32_t sum = 0;
        for (const item& one : db.view<item, by_key>())
            sum += one.value;
        for (const card& one : db.objects<card>())
            sum += one.value;
        const std::uint32_t height = db.get(id<item>(0)).group;
        const bool is_whole = sum == 0 && height == db.get(id<card>(0)).group &&
                              db.count<item>() == db.count<card>() &&
                              db.find<item, by_key>(db.next_id<item>().value - 1) != nullptr;
        return is_whole ? std::optional(height) : std::nullopt;
    }

    database db;

private:
    template <typename T>
    void add() {
        const std::uint32_t key = db.next_id<T>().value;
        db.create<T>([&](T& one) { one.key = key; });
    }
    template <typename T>
    void change(std::uint32_t which, std::uint32_t amount) {
        db.modify(db.get(id<T>(which)), [&](T& one) { one.value += amount; });
    }
    template <typename T>
    void raise() {
        db.modify(db.get(id<T>(0)), [](T& one) { ++one.group; });
    }
    void fill() {
        db.with_write_lock([&] {
            for (std::uint32_t n = 0; n < objects; ++n) {
                add<item>();
                add<card>();
            }
        });
    }
    void apply_in_lock(random_source& random) {
        auto block = db.start_session();
        raise<item>();
        if (random.chance(300)) add<item>();
        std::uint32_t sum = 0;
        for (int changes = 0; changes < 6; ++changes) {
            const std::uint32_t amount = random.below(1000);
            change<item>(1 + random.below(objects - 1), amount);
            sum += amount;
        }
        while (db.count<card>() < db.count<item>())
            add<card>();
        change<card>(1 + random.below(objects - 1), 0 - sum);
        raise<card>();
        block.push();
        db.commit(db.revision() - 2);
    }
};

} // namespace chainbase::test
