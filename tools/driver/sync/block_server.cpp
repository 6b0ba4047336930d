#include <pool_allocator/error.hpp>
#include <tools/driver/sync/block_server.hpp>
#include <tools/driver/sync/server_connection.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

namespace chainbase::driver {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

tcp::endpoint resolved(asio::io_context& context, const endpoint_name& name) {
    error_code failure;
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(name.host, name.port, tcp::resolver::passive, failure);
    if (failure || found.empty())
        throw io_error(in_words(name) + ": cannot be listened at (" + failure.message() +
                       "); name an address of this machine");
    return found.begin()->endpoint();
}

std::string in_words(const tcp::endpoint& at) {
    return in_words(endpoint_name{at.address().to_string(), std::to_string(at.port())});
}

} // namespace

struct block_server::parts : server_connection::host {
    const served_chain& chain;
    options how;
    counters so_far;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    asio::io_context context{1};
    tcp::acceptor acceptor{context};
    asio::steady_timer pause{context};
    std::map<std::shared_ptr<server_connection>, asio::ip::address> connections; ///< from where

    parts(const served_chain& chain_, const options& how_) : chain(chain_), how(how_) {
        const tcp::endpoint at = resolved(context, how.listen);
        try {
            acceptor.open(at.protocol());
            acceptor.set_option(tcp::acceptor::reuse_address(true));
            acceptor.bind(at);
            acceptor.listen();
        } catch (const boost::system::system_error& problem) {
            throw io_error(in_words(at) + ": cannot be listened at (" + problem.code().message() +
                           "); name another port, or 0 for any");
        }
        accept();
    }

    void accept() {
        acceptor.async_accept([this](error_code failure, tcp::socket socket) {
            if (failure == asio::error::operation_aborted) return;
            if (failure) return accept_later(failure);
            welcome(std::move(socket));
            accept();
        });
    }

    /// Out of file descriptors, most likely: there will be some when connections have ended.
    void accept_later(error_code failure) {
        spdlog::warn("cannot take another connection ({}); trying again", failure.message());
        pause.expires_after(std::chrono::milliseconds(200));
        pause.async_wait([this](error_code ended) {
            if (!ended) accept();
        });
    }

    void welcome(tcp::socket socket) {
        ++so_far.connections;
        error_code failure;
        const tcp::endpoint from = socket.remote_endpoint(failure);
        if (failure) return; // gone again
        const auto of_address = std::ranges::count(connections, from.address(),
                                                   [](const auto& one) { return one.second; });
        const bool is_full = connections.size() >= how.connections ||
                             std::cmp_greater_equal(of_address, how.connections_per_address);
        const auto made = std::make_shared<server_connection>(std::move(socket), in_words(from),
                                                              chain, how, *this);
        if (is_full) return made->turn_away();
        connections.emplace(made, from.address());
        made->start();
    }

    [[nodiscard]] std::size_t available() const override {
        const std::size_t all = chain.ids().count();
        if (!how.blocks_per_second) return all;
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        const double more = passed.count() * *how.blocks_per_second;
        const std::size_t left = all - std::min(how.there, all);
        return more >= static_cast<double>(left) ? all
                                                 : all - left + static_cast<std::size_t>(more);
    }
    void sent(std::uint64_t blocks, std::uint64_t bytes) override {
        so_far.blocks += blocks;
        so_far.bytes += bytes;
    }
    void ended(const std::shared_ptr<server_connection>& one, server_connection::end how) override {
        so_far.refused += how == server_connection::end::refused ? 1 : 0;
        so_far.finished += how == server_connection::end::finished ? 1 : 0;
        connections.erase(one);
    }
};

block_server::block_server(const served_chain& chain, const options& how)
    : parts_(std::make_unique<parts>(chain, how)) {}

block_server::~block_server() {
    for (const auto& [one, from] : parts_->connections)
        one->close();
    parts_->acceptor.close();
    parts_->pause.cancel();
    parts_->context.restart();
    parts_->context.poll(); // what was under way ends, and with it the connections
}

std::uint16_t block_server::port() const {
    return parts_->acceptor.local_endpoint().port();
}

std::string block_server::address() const {
    return in_words(parts_->acceptor.local_endpoint());
}

void block_server::run_for(std::chrono::milliseconds time) {
    parts_->context.restart();
    parts_->context.run_for(time);
}

const block_server::counters& block_server::so_far() const noexcept {
    return parts_->so_far;
}

} // namespace chainbase::driver
