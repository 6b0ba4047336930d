#include <archive/memory_store.hpp>
#include <chainbase/database.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/root/chain_root.hpp>
#include <tools/driver/standby/copied_chain.hpp>

#include <cstring>

namespace chainbase::driver {

namespace {

constexpr id<place_in_feed> only_place{0};

} // namespace

copied_chain::copied_chain(chain_state& own, const checkpoint::slot_file::identity& of)
    : own_(own), of_(of), copy_(own.state()) {
    own_.state().add_type<place_in_feed>(place_in_feed::type_name);
    copy_.leave_out(place_in_feed::type_name);
    copy_.add<chain_identity>(chain_identity::type_name);
    copy_.add<applied_block>("applied_block");
    if (own_.root()) {
        copy_.add<root_setting>(root_setting::type_name);
        copy_.add<block_root>(block_root::type_name);
    }
    if (own_.rows().is_of_the_state()) {
        copy_.add<archive::detail::kept_table>("archive.table");
        copy_.add<archive::detail::kept_row>("archive.row");
        copy_.add<archive::detail::kept_key>("archive.key");
    }
    own_.model().copy_by(copy_);
}

std::optional<feed::feed_position> copied_chain::position() const {
    const place_in_feed* const known = own_.state().find(only_place);
    if (!known || std::memcmp(known->of.data(), of_.data(), of_.size()) != 0) return std::nullopt;
    return known->at;
}

void copied_chain::begin_at(feed::feed_position at) {
    const auto set = [&](place_in_feed& one) {
        std::memcpy(one.of.data(), of_.data(), of_.size());
        one.at = at;
    };
    own_.state().with_write_lock([&] {
        if (const place_in_feed* const of_former = own_.state().find(only_place))
            own_.state().modify(*of_former, set);
        else
            own_.state().create<place_in_feed>(set);
    });
}

void copied_chain::apply(const feed::entry& next, const std::deque<type_schema>& types,
                         feed::feed_position end_of_entry) {
    own_.state().with_write_lock([&] {
        copy_.apply(next, types, [&](session& changed, bool is_merged) {
            end(changed, is_merged, end_of_entry);
        });
    });
}

void copied_chain::end(session& changed, bool is_merged, feed::feed_position at) {
    own_.state().modify(only_place, [&](place_in_feed& one) { one.at = at; });
    chain_root* const root = own_.root();
    if (root) root->follow_copied(changed.revision(), own_.head());
    if (!is_merged)
        changed.push();
    else if (root)
        root->squash(changed);
    else
        changed.squash();
}

} // namespace chainbase::driver
