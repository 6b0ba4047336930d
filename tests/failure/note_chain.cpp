#include <pool_allocator/error.hpp>

#include <tests/failure/note_chain.hpp>
#include <tests/support/mismatch.hpp>

#include <new>
#include <utility>

namespace chainbase::test {

void note_chain::change_one(database& db, model& now) {
    const auto number = static_cast<std::uint32_t>(random_.next());
    const std::string title = std::to_string(number) + std::string(1U << random_.below(17), 'x');
    if (now.empty() || random_.below(3) != 0) {
        const note& n = write_note(db, title, number % 50);
        now[n.id.value] = {number % 50, title};
        return;
    }
    const auto at = now.lower_bound(number % (now.rbegin()->first + 1));
    const note& n = db.get(id<note>(at->first));
    if (random_.below(4) == 0) {
        db.remove(n);
        now.erase(at);
        return;
    }
    db.modify(n, [&](note& target) {
        target.weight = number % 50;
        target.title = title;
    });
    at->second = {number % 50, title};
}

void note_chain::apply_block(database& db) {
    model now = stands_.back();
    stands_.reserve(lag + 2); // nothing fails once the block is pushed
    session block = db.start_session();
    for (std::uint32_t changes = 1 + random_.below(12); changes > 0; --changes)
        change_one(db, now);
    block.push();
    stands_.push_back(std::move(now));
    if (stands_.size() <= lag + 1) return;
    stands_.erase(stands_.begin());
    db.commit(++committed_);
}

std::optional<std::string> note_chain::apply(database& db) {
    if (stands_.size() > 1 && random_.chance(100)) {
        db.undo();
        stands_.pop_back();
        return std::nullopt;
    }
    try {
        apply_block(db);
        return std::nullopt;
    } catch (const out_of_space_error& e) {
        return e.what();
    } catch (const std::bad_alloc& e) {
        return e.what();
    }
}

std::string note_chain::apply_until_refused(database& db) {
    for (;;)
        if (const auto said = apply(db)) return *said;
}

std::size_t note_chain::apply_some(database& db, std::size_t blocks) {
    std::size_t refused = 0;
    for (; blocks > 0; --blocks)
        refused += apply(db).has_value();
    return refused;
}

void note_chain::require_same(const database& db) const {
    model found;
    for (const note& n : db.objects<note>()) {
        expect(db.find<note, by_title>(n.title.view()) == &n, "by title");
        found[n.id.value] = {n.weight, std::string(n.title.view())};
    }
    expect(found == stands_.back(), "the state is not that after the last block");
    std::size_t by_weight_count = 0;
    for (const note& n : db.view<note, by_weight>())
        by_weight_count += found.contains(n.id.value);
    expect(by_weight_count == found.size(), "by weight");
    const auto revision = committed_ + static_cast<revision_number>(stands_.size()) - 1;
    expect(db.revision() == revision, "revision");
}

} // namespace chainbase::test
