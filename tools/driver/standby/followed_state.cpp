#include <chainbase/database.hpp>
#include <chainbase/feed/writer.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <chainbase/segment/state_opening.hpp>
#include <tools/driver/standby/followed_state.hpp>

#include <optional>
#include <utility>

namespace chainbase::driver {

namespace {

class state_here final : public followed_state {
public:
    state_here(std::filesystem::path state, const std::string& cursor)
        : state_(std::move(state)), feed_(state_, cursor) {}
    ~state_here() override {
        if (kept_) kept_->abandon(); // closing would make a checkpoint without the archive's rows
    }

    [[nodiscard]] feed::follower& feed() override { return feed_; }
    [[nodiscard]] writer look() override {
        if (file_lock::is_held(state_ / "lock")) return writer::works;
        open_options options;
        options.mode = open_mode::read_only;
        const auto header = detail::header_in(state_opening(state_, options).place().folder());
        return header && header->clean == 1 ? writer::ended : writer::killed;
    }
    void keep_writers_out() override {
        open_options options;
        options.durability = durability::process;
        kept_.emplace(state_, options);
        const feed::writer telling(*kept_); // has told all where it ends
    }
    [[nodiscard]] std::string name() const override { return state_.string(); }

private:
    std::filesystem::path state_;
    feed::follower feed_;
    std::optional<database> kept_;
};

} // namespace

std::unique_ptr<followed_state> follow_here(const std::filesystem::path& state,
                                            const std::string& cursor) {
    return std::make_unique<state_here>(state, cursor);
}

} // namespace chainbase::driver
