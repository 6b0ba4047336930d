#pragma once

#include <tools/chains/chain_model.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::bench {

/// A block log and its division for the modes of the chain bench.
struct chain_log {
    std::filesystem::path path;
    std::string chain;
    std::uint64_t blocks = 0;
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;

    std::uint64_t live_from = 0;       ///< the first block applied live
    std::uint64_t live_blocks = 0;     ///< number of live blocks
    std::uint64_t rest_blocks = 0;     ///< behind them: the source of the last pending transactions
    std::uint64_t sync_operations = 0; ///< of the blocks before live_from

    /// The name of its file.
    [[nodiscard]] std::string log() const { return path.filename().string(); }
};
BOOST_DESCRIBE_STRUCT(chain_log, (), (log, chain, blocks, transactions, operations, live_blocks))

/// Reads the whole log once. The live blocks are the last `live_blocks` with at least `pending`
/// transactions behind them; fewer when the log is short, at most half of it.
///
/// Throws what reading a log throws; usage_error when it is empty or of an unknown chain.
[[nodiscard]] chain_log survey(const std::filesystem::path& path, std::uint64_t live_blocks,
                               std::uint64_t pending);

/// A chain's rules over one engine's state, with its sessions. Calls come once per block,
/// transaction and session, the same for every engine.
///
/// For one thread; frees everything when destroyed. Sessions nest and end in reverse order.
class chain_engine {
public:
    chain_engine() = default;
    chain_engine(const chain_engine&) = delete;
    chain_engine& operator=(const chain_engine&) = delete;
    virtual ~chain_engine() = default;

    [[nodiscard]] virtual chain_model& model() = 0;
    /// Whether looking keys up ahead, and together, helps.
    [[nodiscard]] virtual bool asks_ahead() const = 0;

    virtual void start_session() = 0;
    /// Keeps the current session as a revision that can be undone.
    virtual void push() = 0;
    /// Undoes the newest session, pushed or not.
    virtual void undo() = 0;
    /// Merges the current session into the one below.
    virtual void squash() = 0;
    virtual void commit(std::int64_t revision) = 0;
    [[nodiscard]] virtual std::int64_t revision() const = 0;

    /// Objects in memory, and the bytes held for them, including undo memory.
    [[nodiscard]] virtual std::uint64_t objects() const = 0;
    [[nodiscard]] virtual std::uint64_t held_bytes() const = 0;
};

/// A node's work on a chain, over any engine: the same timed loops of the chain bench for all. Each
/// throws what reading the log and applying a block throws, and error when interrupted.

/// Blocks behind the head that can be popped.
inline constexpr std::int64_t blocks_to_irreversible = 20;

enum class stepping {
    without_sessions,
    in_sessions, ///< one per step, committed at once: a kill undoes the step
};

struct replay_times {
    double ns = 0;         ///< from requesting the first block to applying the last
    double helping_ns = 0; ///< of that, preparing blocks instead of waiting
    double waiting_ns = 0; ///< of that, waiting for blocks not yet prepared
};

/// Applies the whole log in the driver's steps; other threads read, decompress and decode it.
[[nodiscard]] replay_times replay(chain_engine& engine, const chain_log& log, stepping how);

/// Applies blocks in memory in the same way.
void replay(chain_engine& engine, run_of_blocks blocks, stepping how);

/// Applies the blocks before log.live_from, prepared in the same way, each in a session that is
/// committed when it is blocks_to_irreversible behind. Returns the time in ns.
[[nodiscard]] double sync(chain_engine& engine, const chain_log& log);

struct live_times {
    double ns = 0;              ///< of all blocks
    double pending_ns = 0;      ///< of that, for pending transactions
    std::uint64_t pending = 0;  ///< transactions that were applied as pending, counted each
                                ///< time
    std::uint64_t rejected = 0; ///< of these, refused
};

/// Continues after sync(). Before each live block the next `pending` transactions of the log (the
/// block's own and those behind it) are applied as pending: an outer session, and in it one for
/// each transaction, squashed into the outer when applied and undone when rejected. Then all of it
/// is undone and the block is applied as in sync(). So a transaction is applied repeatedly until
/// its block comes.
///
/// The blocks are decoded before anything is timed. Those behind the live ones are applied at the
/// end, untimed: the state is then that of the whole log.
[[nodiscard]] live_times live(chain_engine& engine, const chain_log& log, std::uint64_t pending);

/// Makes the empty state of a known chain in `directory`, an empty folder that the caller removes.
using chain_engine_maker = std::unique_ptr<chain_engine> (*)(
    std::string_view chain, const std::filesystem::path& directory);

/// An engine and its name in reports.
struct chain_engine_entry {
    std::string_view name;
    chain_engine_maker make;
    /// Whether a replay runs in sessions: true where a kill could not be undone without them; the
    /// classical engines replay without any undo.
    bool replays_in_sessions;

    [[nodiscard]] stepping how_to_replay() const noexcept {
        return replays_in_sessions ? stepping::in_sessions : stepping::without_sessions;
    }
};

[[nodiscard]] std::unique_ptr<chain_engine>
make_chainbase_chain(std::string_view chain, const std::filesystem::path& directory);
[[nodiscard]] std::unique_ptr<chain_engine>
make_archiving_chain(std::string_view chain, const std::filesystem::path& directory);
[[nodiscard]] std::unique_ptr<chain_engine>
make_classical_chain(std::string_view chain, const std::filesystem::path& directory);
[[nodiscard]] std::unique_ptr<chain_engine>
make_classical_hashed_chain(std::string_view chain, const std::filesystem::path& directory);

/// In the order of execution.
inline constexpr chain_engine_entry chain_engines[] = {
    {"chainbase", make_chainbase_chain, true},
    {"classical", make_classical_chain, false},
    {"classical_hashed", make_classical_hashed_chain, false},
    {"chainbase_archive", make_archiving_chain, true},
};

} // namespace chainbase::bench
