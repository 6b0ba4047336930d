#include <chainbase/segment/state_opening.hpp>
#include <tools/driver/standby/followed_state.hpp>
#include <tools/driver/standby/standby.hpp>

namespace chainbase::driver {

namespace {

class state_here final : public followed_state {
public:
    explicit state_here(const standby_options& how)
        : writer_(how.of), feed_(how.of, how.cursor),
          successor_(std::filesystem::absolute(how.state).lexically_normal().string()) {}

    [[nodiscard]] feed::follower& feed() override { return feed_; }
    void keep(feed::feed_position behind, revision_number at) override { feed_.keep(behind, at); }
    [[nodiscard]] std::optional<other_writer::condition> look() override { return writer_.look(); }
    [[nodiscard]] bool keep_writers_out() override {
        writer_.keep_out();
        return true;
    }
    [[nodiscard]] std::optional<revision_number> newest_revision() const override {
        return writer_.revision();
    }
    [[nodiscard]] bool pass_on() override {
        writer_.pass_on(successor_);
        return true;
    }
    [[nodiscard]] bool is_passed_on() override { return superseded_by() == successor_; }
    [[nodiscard]] std::string successor() const override { return successor_; }
    [[nodiscard]] std::optional<std::string> superseded_by() override {
        return chainbase::superseded_by(writer_.state());
    }
    [[nodiscard]] std::string name() const override { return writer_.state().string(); }

private:
    other_writer writer_;
    feed::follower feed_;
    std::string successor_;
};

} // namespace

std::unique_ptr<followed_state> follow_here(const standby_options& how) {
    return std::make_unique<state_here>(how);
}

} // namespace chainbase::driver
