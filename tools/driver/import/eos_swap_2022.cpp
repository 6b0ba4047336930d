#include <tools/chains/swap/operations.hpp>
#include <tools/driver/import/csv_table.hpp>
#include <tools/driver/import/import.hpp>
#include <tools/driver/import/unfinished_log.hpp>

namespace chainbase {
namespace {

enum column : std::size_t {
    block_num,
    timestamp,
    transaction_number,
    owner,
    pair_id,
    quantity_in,
    quantity_out,
    fee,
    reserve0,
    reserve1,
};

const std::vector<std::string_view> columns{
    "block_num",   "timestamp",    "transaction", "owner",    "pair_id",
    "quantity_in", "quantity_out", "fee",         "reserve0", "reserve1",
};

swap::asset read_asset(const csv_table& row, column from) {
    const auto value = swap::parse_asset(row.text(from));
    if (!value) row.fail(from, "is not an amount such as 0.0536 EOS");
    return *value;
}

swap::swap read_swap(const csv_table& row) {
    return {
        .owner = row.name<swap::owner_name::capacity>(owner),
        .pair_id = static_cast<std::uint32_t>(row.number(pair_id, 0, UINT32_MAX)),
        .quantity_in = read_asset(row, quantity_in),
        .quantity_out = read_asset(row, quantity_out),
        .fee = read_asset(row, fee),
        .reserve0 = read_asset(row, reserve0),
        .reserve1 = read_asset(row, reserve1),
    };
}

/// Makes blocks of the rows, which are in chain order.
class block_assembly {
public:
    explicit block_assembly(unfinished_log& log) : log_(log) {}

    void add(const csv_table& row) {
        const bool same_block = is_same_block(row);
        const bool same_transaction = is_same_transaction(row, same_block);
        if (!same_block) begin_block(row);
        if (!same_transaction) begin_transaction(row);
        block_.transactions.back().operations.push_back(encode(read_swap(row)));
        ++summary_.operations;
    }

    import_summary finish() {
        end_block();
        summary_.bytes = log_.finish();
        return summary_;
    }

private:
    [[nodiscard]] bool is_empty() const { return block_.transactions.empty(); }

    [[nodiscard]] bool is_same_block(const csv_table& row) const {
        const auto number = static_cast<std::uint64_t>(row.number(block_num, 0));
        const std::int64_t time = row.number(column::timestamp, 0);
        if (is_empty()) return false;
        if (number < block_.number) row.fail(block_num, "is below the row before");
        const bool same = number == block_.number;
        if (same ? time != block_.timestamp : time < block_.timestamp)
            row.fail(column::timestamp, "does not fit the row before");
        return same;
    }

    [[nodiscard]] bool is_same_transaction(const csv_table& row, bool same_block) const {
        const std::int64_t number = row.number(transaction_number);
        if (is_empty() || number == transaction_ + 1) return false;
        if (number != transaction_ || !same_block)
            row.fail(transaction_number, "does not follow the row before");
        return true;
    }

    void begin_block(const csv_table& row) {
        end_block();
        block_ = {
            static_cast<std::uint64_t>(row.number(block_num)), row.number(column::timestamp), {}};
    }

    void begin_transaction(const csv_table& row) {
        block_.transactions.emplace_back();
        transaction_ = row.number(transaction_number);
        ++summary_.transactions;
    }

    void end_block() {
        if (is_empty()) return;
        log_.append(block_);
        ++summary_.blocks;
    }

    unfinished_log& log_;
    block block_;
    std::int64_t transaction_ = 0;
    import_summary summary_;
};

} // namespace

import_summary import_eos_swap_2022(const std::filesystem::path& from_folder,
                                    const std::filesystem::path& block_log) {
    unfinished_log log(block_log, swap::chain_name);
    csv_table rows(from_folder / "swaps.csv.zst", columns);
    block_assembly blocks(log);
    while (rows.next())
        blocks.add(rows);
    return blocks.finish();
}

} // namespace chainbase
