#include <archive/state_digest.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/archive/kept_archive.hpp>
#include <tools/inspect/compare/content_digest.hpp>
#include <tools/inspect/rows/ordered_chunks.hpp>
#include <tools/inspect/rows/type_records.hpp>
#include <tools/inspect/state/bookkeeping.hpp>

#include <algorithm>
#include <set>

namespace chainbase::inspect {

namespace {

constexpr std::uint32_t ids_at_once = 8192;

std::set<std::string> names_in(still_state& state) {
    std::set<std::string> names;
    state.take_turn([&] {
        for (const type_schema* schema : state.source().types())
            names.insert(schema->name);
    });
    return names;
}

/// One try to read all of a state.
class attempt {
public:
    attempt(row_source& state, const content_digest::question& asked)
        : state_(state), asked_(asked) {
        // After the moment: what the state handed over by then is there.
        if (!asked.memory_only) archive_ = open_archive(state);
    }

    content_digest run() {
        content_digest found;
        found.revision = state_.revision();
        found.is_rolled_back = state_.source().is_rolled_back();
        const std::set<std::string> names = names_in(state_);
        archive::state_digest whole;
        for (const std::string& name : wanted(names))
            found.types.push_back(read(name, names, whole));
        found.digest = whole.hex();
        return found;
    }

private:
    [[nodiscard]] std::set<std::string> wanted(const std::set<std::string>& names) const {
        if (asked_.types.empty()) return names;
        return {asked_.types.begin(), asked_.types.end()};
    }

    content_digest::type read(const std::string& name, const std::set<std::string>& names,
                              archive::state_digest& whole) {
        content_digest::type found;
        found.name = name;
        if (asked_.types.empty()) {
            state_.take_turn([&] {
                const rows::type_rows of = state_.source().of(name);
                found.why_not = why_bookkeeping(of.schema(), names);
                found.rows = of.slots().live();
            });
            if (!found.why_not.empty()) return found;
        }
        type_records all(state_, name, archive_.get(),
                         asked_.memory_only ? type_records::places::memory
                                            : type_records::places::both);
        found.undescribed = all.record().undescribed();
        const sha256_digest digest = digest_of(all);
        whole.add(name, digest);
        found.digest = hex(digest);
        found.rows = all.rows();
        found.archived_rows = all.archived_rows();
        return found;
    }

    sha256_digest digest_of(type_records& all) const {
        sha256 sum;
        const std::size_t pieces = (std::size_t{all.end()} + ids_at_once - 1) / ids_at_once;
        made_in_order(
            pieces, asked_.threads,
            [&](std::size_t piece) {
                const auto begin = static_cast<std::uint32_t>(piece * ids_at_once);
                return all.read(begin, begin + std::min(ids_at_once, all.end() - begin));
            },
            [&](const archive::byte_buffer& records) { sum.add(records); });
        return sum.finish();
    }

    still_state state_;
    const content_digest::question& asked_;
    std::unique_ptr<archive::store> archive_;
};

} // namespace

content_digest content_digest::of(const std::filesystem::path& state, const question& asked) {
    row_source from(state);
    if (auto found = attempt_while_still([&] { return attempt(from, asked).run(); }))
        return *std::move(found);
    content_digest none;
    none.revision = from.current_revision();
    none.has_moved = true;
    return none;
}

} // namespace chainbase::inspect
