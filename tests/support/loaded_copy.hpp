#pragma once

#include <chainbase/database.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/bulk_load/new_state.hpp>
#include <chainbase/offline/rows/type_rows.hpp>

#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <filesystem>

namespace chainbase::test {

/// The objects of a state without a writer, read through its catalogue.
class state_rows {
public:
    explicit state_rows(const std::filesystem::path& state)
        : db_(state, quick_options(open_mode::read_only)), memory_(db_.memory()),
          buffers_(files_of(memory_)) {}

    [[nodiscard]] const std::vector<catalogue::entry>& types() const {
        return memory_.types().entries();
    }
    [[nodiscard]] rows::type_rows of(std::size_t number) const {
        const type_windows& windows = *memory_.windows().at(number);
        rows::type_rows::source from{&types().at(number).schema,
                                     windows.objects.get(),
                                     windows.ids.get(),
                                     {},
                                     {},
                                     &buffers_};
        for (const auto& table : windows.tables)
            from.tables.push_back(table.get());
        for (const auto& tree : windows.btrees)
            from.btrees.push_back(tree.get());
        return rows::type_rows(std::move(from));
    }
    [[nodiscard]] revision_number revision() const { return db_.revision(); }

private:
    static rows::segment_buffers::files files_of(const segment& memory) {
        rows::segment_buffers::files files{};
        auto next = files.begin();
        memory.buffers().each_window([&](const window& file) { *next++ = &file; });
        return files;
    }

    database db_;
    const segment& memory_;
    rows::segment_buffers buffers_;
};

inline bulk_load::new_state::limits quick_limits() {
    bulk_load::new_state::limits of;
    of.window_bytes = quick_options().window_bytes;
    of.windows = quick_options().windows;
    return of;
}

/// Copies all objects of a state, in the order of their ids, into a new one; passes the key orders
/// that `orders` returns.
template <typename Orders>
void load_copy(const std::filesystem::path& from, const std::filesystem::path& to,
               Orders&& orders) {
    const state_rows source(from);
    bulk_load::new_state copy(to, quick_limits());
    for (std::size_t number = 0; number < source.types().size(); ++number) {
        const rows::type_rows of = source.of(number);
        bulk_load::object_loader loader = copy.add_type(of.schema());
        loader.add_all(of);
        loader.finish(of.slots().next_id(), orders(of));
    }
    copy.close(source.revision());
}

inline void load_copy(const std::filesystem::path& from, const std::filesystem::path& to,
                      bulk_load::which_keys told = bulk_load::which_keys::all) {
    load_copy(from, to, [&](const rows::type_rows& of) { return bulk_load::orders_of(of, told); });
}

} // namespace chainbase::test
