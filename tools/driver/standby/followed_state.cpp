#include <chainbase/segment/state_opening.hpp>
#include <tools/driver/standby/followed_state.hpp>

namespace chainbase::driver {

namespace {

class state_here final : public followed_state {
public:
    state_here(const std::filesystem::path& state, const std::string& cursor)
        : writer_(state), feed_(state, cursor) {}

    [[nodiscard]] feed::follower& feed() override { return feed_; }
    void keep(feed::feed_position behind, revision_number at) override { feed_.keep(behind, at); }
    [[nodiscard]] other_writer::condition look() override { return writer_.look(); }
    [[nodiscard]] bool keep_writers_out() override {
        writer_.keep_out();
        return true;
    }
    [[nodiscard]] std::optional<revision_number> newest_revision() const override {
        return writer_.revision();
    }
    void pass_on(const std::string& other) override { writer_.pass_on(other); }
    [[nodiscard]] std::optional<std::string> superseded_by() const override {
        return chainbase::superseded_by(writer_.state());
    }
    [[nodiscard]] std::string name() const override { return writer_.state().string(); }

private:
    other_writer writer_;
    feed::follower feed_;
};

} // namespace

std::unique_ptr<followed_state> follow_here(const std::filesystem::path& state,
                                            const std::string& cursor) {
    return std::make_unique<state_here>(state, cursor);
}

} // namespace chainbase::driver
