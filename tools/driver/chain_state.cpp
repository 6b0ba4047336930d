#include <chainbase/database.hpp>
#include <tools/chains/rejected.hpp>
#include <tools/driver/block_checksum.hpp>
#include <tools/driver/bookkeeping.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/operation_count.hpp>

#include <spdlog/spdlog.h>

#include <string>
#include <vector>

namespace chainbase::driver {

namespace {

/// Objects that leave memory within one block at most, so that no block takes long for others.
constexpr std::size_t hand_over_limit = 1000;

constexpr id<chain_identity> only{0};
constexpr const char* identity_type = "chain_identity";

std::string in_words(const std::filesystem::path& state) {
    return "the state " + state.string();
}

} // namespace

struct chain_state::parts {
    database state;
    std::unique_ptr<archive::store> rows;
    std::unique_ptr<chain_model> model;
    std::int64_t lag;

    parts(const std::filesystem::path& folder, const std::string& chain, std::int64_t lag_)
        : state(of_known_chain(folder, chain)), lag(lag_) {
        identify(chain);
        state.add_type<applied_block>("applied_block");
        require_archive(folder / "archive");
        rows = archive::make_store(archive::store_kind::rocksdb, folder / "archive");
        model = make_chain_model(chain, state, *rows);
    }
    ~parts() {
        try {
            close();
        } catch (const std::exception& problem) {
            spdlog::error("closing: {}", problem.what());
        }
    }

    /// A chain without a model leaves no state behind that only it could be continued with.
    static const std::filesystem::path& of_known_chain(const std::filesystem::path& folder,
                                                       const std::string& chain) {
        require_chain_model(chain);
        return folder;
    }

    /// The archive is made before the first block: one that is missing is not made anew.
    void require_archive(const std::filesystem::path& place) const {
        if (head() == nullptr || std::filesystem::exists(place)) return;
        throw damaged_error(place.string() +
                            ": missing; put the archive back that belongs to this state, or replay "
                            "into a new folder");
    }

    void close();
    void identify(const std::string& chain);
    /// The block of a revision, null when it is no longer (or never was) known.
    [[nodiscard]] const applied_block* block_of(revision_number revision) const {
        if (revision < 1) return nullptr;
        return state.find(id<applied_block>(static_cast<std::uint32_t>(revision - 1)));
    }
    [[nodiscard]] const applied_block* head() const { return block_of(state.revision()); }
    void remember(const block& next, std::uint64_t operations_before);
    void forget_old_blocks();
    void apply(const block& next);
};

/// The store comes first: a state that counts as closed properly relies on rows that are on disk.
/// If they cannot be put there it stays open, and after a restart of the machine, which may cost
/// rows, nothing believes it.
void chain_state::parts::close() {
    try {
        if (rows) rows->sync();
    } catch (...) {
        rows.reset();
        state.abandon();
        throw;
    }
    model.reset();
    rows.reset();
    state.close();
}

/// Nothing is added to a state before it is known to be of this chain.
void chain_state::parts::identify(const std::string& chain) {
    const auto& types = state.memory().types();
    if (!types.entries().empty() && types.find(identity_type) == nullptr)
        throw usage_error(in_words(state.memory().state()) +
                          " was made by another program; name another folder");
    state.add_type<chain_identity>(identity_type);
    const chain_identity* known = state.find(only);
    if (known == nullptr)
        known = &state.create<chain_identity>(
            [&](chain_identity& one) { one.chain = std::string_view(chain); });
    if (known->chain.view() != chain)
        throw usage_error(in_words(state.memory().state()) + " is of the chain " +
                          std::string(known->chain.view()) + ", the block log is of " + chain +
                          "; name another folder, or that chain's log");
}

void chain_state::parts::remember(const block& next, std::uint64_t operations_before) {
    state.create<applied_block>([&](applied_block& one) {
        one.number = next.number;
        one.checksum = checksum_of(next);
        one.operations = operations_before + operations_in(next);
    });
}

void chain_state::parts::forget_old_blocks() {
    const auto by_age = state.view<applied_block, by_number>();
    while (by_age.begin() != by_age.end() &&
           by_age.begin()->id.value + 1 < state.committed_revision())
        state.remove(*by_age.begin());
}

void chain_state::parts::apply(const block& next) {
    const std::uint64_t before = head() ? head()->operations : 0;
    session one = state.start_session();
    model->hand_over(hand_over_limit);
    model->apply(next);
    forget_old_blocks();
    remember(next, before);
    one.push();
    state.commit(state.revision() - lag);
}

chain_state::chain_state(const std::filesystem::path& folder, const std::string& chain,
                         std::int64_t lag)
    : parts_(std::make_unique<parts>(folder, chain, lag)) {}

chain_state::~chain_state() = default;

void chain_state::close() {
    parts_->close();
}

void chain_state::require_made_from(const block_log_reader& log) const {
    const applied_block* head = parts_->head();
    if (head == nullptr) return;
    const auto known = log.read(head->number);
    if (known && checksum_of(*known) == head->checksum) return;
    throw usage_error(in_words(parts_->state.memory().state()) + " stands at block " +
                      std::to_string(head->number) + ", and the block log " + log.path().string() +
                      (known ? " has another block of that number" : " has no such block") +
                      "; use the log that the state was made from, or name another folder");
}

void chain_state::apply(const block& next) {
    const auto told = [&](const error& problem) {
        return "block " + std::to_string(next.number) + ", " + problem.what() +
               ". The state stays at block " + std::to_string(head());
    };
    try {
        parts_->apply(next);
    } catch (const rejected_error& problem) {
        throw rejected_error(
            told(problem) +
            ". Check where the block log came from (import or fetch it again), or use the version "
            "of this program whose rules it follows; the same call then goes on");
    } catch (const out_of_space_error& problem) {
        throw out_of_space_error(told(problem));
    } catch (const limit_error& problem) {
        throw limit_error(told(problem));
    } catch (const io_error& problem) {
        throw io_error(told(problem));
    } catch (const damaged_error& problem) {
        throw damaged_error(told(problem));
    }
}

void chain_state::pop() {
    parts_->state.undo();
}

void chain_state::finish() {
    database& state = parts_->state;
    state.commit(state.revision());
    for (bool more = true; more;) {
        session one = state.start_session();
        more = parts_->model->hand_over(hand_over_limit) != 0;
        parts_->forget_old_blocks();
        one.squash();
    }
}

std::uint64_t chain_state::head() const {
    const applied_block* head = parts_->head();
    return head ? head->number : 0;
}

std::uint64_t chain_state::irreversible() const {
    const applied_block* last = parts_->block_of(parts_->state.committed_revision());
    return last ? last->number : 0;
}

std::uint64_t chain_state::blocks() const {
    return static_cast<std::uint64_t>(parts_->state.revision());
}

std::uint64_t chain_state::operations() const {
    const applied_block* head = parts_->head();
    return head ? head->operations : 0;
}

const chain_model& chain_state::model() const noexcept {
    return *parts_->model;
}

const archive::statistics& chain_state::lookups() const noexcept {
    return parts_->rows->stats();
}

segment_statistics chain_state::memory() const {
    return segment_statistics::read(parts_->state);
}

} // namespace chainbase::driver
