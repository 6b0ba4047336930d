#include <chainbase/database.hpp>

#include <tests/inspect/many_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <string>
#include <tuple>
#include <utility>

namespace chainbase::test {

namespace {

struct by_number;

/// An ordered key, a hashed one, or none.
template <std::size_t N>
struct numbered {
    chainbase::id<numbered> id;
    std::uint32_t visits = 0;
    std::uint64_t number = 0;
    shared_string text;
    using keys = std::tuple_element_t<
        N % 3, std::tuple<chainbase::keys<ordered_unique<by_number, &numbered::number>>,
                          chainbase::keys<hashed_unique<by_number, &numbered::number>>,
                          chainbase::keys<>>>;
    BOOST_DESCRIBE_CLASS(numbered, (), (id, visits, number, text), (), ())
};

template <std::size_t N>
void fill(database& db, std::uint32_t rows) {
    db.add_type<numbered<N>>("type." + std::to_string(N));
    const std::uint32_t kept = rows_of_type(N, rows);
    const std::uint32_t removed = kept / 6;
    for (std::uint32_t i = 0; i < kept + removed; ++i)
        db.create<numbered<N>>([&](numbered<N>& one) {
            one.number = i;
            one.text = std::string(i % 90, static_cast<char>('a' + N % 26));
        });
    for (std::uint32_t i = 0; i < removed; ++i)
        db.remove(db.get(id<numbered<N>>(7 * i)));
}

template <std::size_t... N>
void fill_all(database& db, std::uint32_t rows, std::index_sequence<N...>) {
    (fill<N>(db, rows), ...);
}

} // namespace

void build_many_types(const std::filesystem::path& state, std::uint32_t rows) {
    open_options how = quick_options();
    how.windows = 384;
    database db(state, how);
    fill_all(db, rows, std::make_index_sequence<many_types>());
    for (int sessions = 0; sessions < 3; ++sessions) {
        auto block = db.start_session();
        db.modify(*db.objects<numbered<0>>().begin(), [](numbered<0>& one) { ++one.visits; });
        block.push();
    }
}

void change_type_5(const std::filesystem::path& state) {
    database db(state, quick_options());
    db.add_type<numbered<5>>("type.5");
    db.modify(*db.objects<numbered<5>>().begin(), [](numbered<5>& one) { ++one.visits; });
}

} // namespace chainbase::test
