#pragma once

#include <tools/bench/account.hpp>
#include <tools/bench/bank_engine.hpp>
#include <tools/bench/crash_engine.hpp>
#include <tools/bench/large_engine.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

/// Accounts in byte stores.
namespace chainbase::bench {

using byte_key = std::array<char, 8>;
using byte_pair_key = std::array<char, 16>;

inline void store_big_endian(char* at, std::uint64_t value) noexcept {
    const std::uint64_t swapped = __builtin_bswap64(value);
    std::memcpy(at, &swapped, sizeof(swapped));
}

/// Sorts like the id.
inline byte_key id_bytes(std::uint64_t id) noexcept {
    byte_key key;
    store_big_endian(key.data(), id);
    return key;
}

/// The id in a key of id_bytes().
inline std::uint64_t number_in(const byte_key& key) noexcept {
    std::uint64_t swapped;
    std::memcpy(&swapped, key.data(), sizeof(swapped));
    return __builtin_bswap64(swapped);
}

/// Sorts like (balance descending, id): the complement reverses the order; the flipped top bit puts
/// negative balances below positive ones.
inline byte_pair_key balance_bytes(const account& object) noexcept {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    byte_pair_key key;
    store_big_endian(key.data(), ~(static_cast<std::uint64_t>(object.balance) ^ sign));
    store_big_endian(key.data() + 8, object.id);
    return key;
}

/// The work of the benches `crash` and `large` in a store that keeps a crash_account by name. A
/// Store has begin() and commit() for a transaction, and in it put(name, account), get(name) and
/// put_head(number); `accounts_at_once` is the number filled in one transaction. It may have
/// put_at_once(), where put() is not read before commit().
template <typename Store>
class accounts_as_bytes : public crash_engine, public large_engine {
public:
    void fill(const crash_plan& plan) final {
        crash_account fresh;
        fresh.balance = crash_plan::money_each;
        self().begin();
        for (std::uint32_t i = 0; i < plan.accounts(); ++i) {
            self().put_new(crash_plan::name_of(i), fresh);
            if ((i + 1) % Store::accounts_at_once != 0) continue;
            self().commit();
            self().begin();
        }
        self().put_head(0);
        self().commit();
    }
    void apply(std::uint64_t number, const crash_plan::block& payments) final {
        self().begin();
        pay(payments);
        self().put_head(number);
        self().commit();
    }
    void apply_half(std::uint64_t, const crash_plan::block& payments,
                    const std::function<void()>& stop) final {
        self().begin();
        pay(std::span(payments).first(payments.size() / 2));
        stop();
    }

    void fill_large(std::uint32_t count) final { make(count, first_balance_of); }
    void begin_block() final { self().begin(); }
    void end_block() final { self().commit(); }
    std::int64_t find_balance(const account_name& name) final { return self().get(name).balance; }
    std::int64_t find_savings(const account_name& name) final { return self().get(name).savings; }
    void change_savings(const account_name& name) final {
        crash_account value = self().get(name);
        ++value.savings;
        if constexpr (requires { self().put_at_once(name, value); })
            self().put_at_once(name, value);
        else
            self().put(name, value);
    }

protected:
    /// In transactions of 10,000.
    template <typename Balance>
    void make(std::uint32_t count, Balance&& balance_of) {
        constexpr std::uint32_t at_once = 10'000;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (i % at_once == 0) self().begin();
            const account_name name = crash_plan::name_of(i);
            crash_account fresh;
            fresh.balance = balance_of(name);
            self().put_new(name, fresh);
            if ((i + 1) % at_once == 0 || i + 1 == count) self().commit();
        }
    }

private:
    Store& self() noexcept { return static_cast<Store&>(*this); }

    void pay(std::span<const crash_plan::payment> payments) {
        for (const crash_plan::payment& one : payments) {
            add(one.from, -1);
            add(one.to, 1);
        }
    }
    void add(std::uint32_t account, std::int64_t amount) {
        const account_name name = crash_plan::name_of(account);
        crash_account value = self().get(name);
        value.balance += amount;
        self().put(name, value);
    }
};

/// The work of the bench `bank` in the same store, which also has put_entry(number, transfer); and,
/// where get() does not find what was put() before commit(), get_changed() and put_changed(), which
/// find and keep what the transaction changed.
template <typename Store>
class bank_as_bytes : public bank_engine {
public:
    void open_accounts(std::uint32_t count) final {
        self().make(count, [](const account_name&) { return bank_plan::first_balance; });
    }
    void transfer(std::uint64_t number, std::span<const bank_transfer> batch) final {
        self().begin();
        for (const bank_transfer& one : batch) {
            crash_account from = newest(one.from);
            crash_account to = newest(one.to);
            from.balance -= one.amount;
            to.balance += one.amount;
            change(one.from, from);
            change(one.to, to);
            self().put_entry(number++, one);
        }
        self().commit();
    }

private:
    Store& self() noexcept { return static_cast<Store&>(*this); }

    crash_account newest(const account_name& name) {
        if constexpr (requires { self().get_changed(name); })
            return self().get_changed(name);
        else
            return self().get(name);
    }
    void change(const account_name& name, const crash_account& value) {
        if constexpr (requires { self().put_changed(name, value); })
            self().put_changed(name, value);
        else
            self().put(name, value);
    }
};

} // namespace chainbase::bench
