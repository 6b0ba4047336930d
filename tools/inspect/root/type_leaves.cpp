#include <chainbase/state_root/sha256.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/in_order.hpp>
#include <tools/inspect/root/type_leaves.hpp>
#include <tools/progress.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace chainbase::inspect {

namespace {

constexpr std::uint32_t ids_at_once = 4096;

/// The leaves of a range of ids.
struct piece {
    sha256 hash{};
    std::vector<state_root::leaf_update> leaves{};
    std::uint64_t archived = 0;
    std::vector<type_leaves::unreadable_object> unreadable{};

    void add(const type_records::seen& one) {
        leaves.push_back({one.id, hash.of(one.record)});
        archived += one.is_archived ? 1 : 0;
    }
};

/// Reads ranges of one type. Thread-safe.
class record_hasher {
public:
    record_hasher(unchanging_state& state, const archive::store* archive, const std::string& type)
        : state_(state), type_(type), records_(state, type, archive, type_records::places::both) {}

    [[nodiscard]] std::uint32_t end() const noexcept { return records_.end(); }

    [[nodiscard]] piece read(std::uint32_t begin, std::uint32_t end) {
        piece to;
        to.leaves.reserve(end - begin);
        try {
            records_.each(begin, end, [&](const type_records::seen& one) { to.add(one); });
        } catch (const damaged_error&) {
            to.leaves.clear();
            to.archived = 0;
            read_one_by_one(begin, end, to);
        }
        return to;
    }

private:
    /// The object in memory counts, whatever the archive has.
    void read_one_by_one(std::uint32_t begin, std::uint32_t end, piece& to) {
        type_records in_memory(state_, type_, nullptr, type_records::places::memory);
        const auto read = [&](type_records& from, std::uint32_t id) {
            from.each(id, id + 1, [&](const type_records::seen& one) { to.add(one); });
        };
        for (std::uint32_t id = begin; id < end; ++id) {
            const std::size_t before = to.leaves.size();
            const auto is_read = [&] { return to.leaves.size() != before; };
            try {
                try {
                    read(records_, id);
                } catch (const damaged_error&) {
                    if (!is_read()) read(in_memory, id);
                    if (!is_read()) throw;
                }
            } catch (const damaged_error& problem) {
                to.unreadable.push_back({id, false, problem.what()});
            }
        }
        state_.take_turn([&] {
            const rows::type_rows of = state_.source().of(type_);
            for (auto& one : to.unreadable)
                one.is_archived = !may_be_in_memory(of, one.id);
        });
    }

    unchanging_state& state_;
    const std::string& type_;
    type_records records_;
};

} // namespace

bool may_be_in_memory(const rows::type_rows& of, std::uint32_t id) {
    try {
        return of.slots().slot_of(id) != 0;
    } catch (const damaged_error&) {
        return true;
    }
}

type_leaves type_leaves::of(unchanging_state& state, const archive::store* archive,
                            const std::string& type, unsigned threads) {
    record_hasher from(state, archive, type);
    const std::uint32_t end = from.end();
    const std::size_t count = (std::size_t{end} + ids_at_once - 1) / ids_at_once;
    type_leaves all;
    progress shown("hashing the objects of " + type, "pieces");
    std::size_t done = 0;
    made_in_order(
        count, threads,
        [&](std::size_t number) {
            const auto begin = static_cast<std::uint32_t>(number * ids_at_once);
            return from.read(begin, begin + std::min(ids_at_once, end - begin));
        },
        [&](piece&& one) {
            all.tree.update(one.leaves);
            all.archived += one.archived;
            std::ranges::move(one.unreadable, std::back_inserter(all.unreadable));
            shown.show(++done, count);
        });
    return all;
}

bool type_leaves::is_unreadable(std::uint32_t id) const noexcept {
    return std::ranges::binary_search(unreadable, id, {}, &unreadable_object::id);
}

} // namespace chainbase::inspect
