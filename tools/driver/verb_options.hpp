#pragma once

#include <tools/driver/live/live_node.hpp>
#include <tools/driver/live/readers.hpp>
#include <tools/driver/sync/following.hpp>

#include <chrono>
#include <string>

namespace chainbase {
class command;
}

/// Options that several verbs have. What they are bound to has their default, and has to live as
/// long as the verb.
namespace chainbase::driver {

/// What a state follows: `--peer`, `--block-log`, `--state`, `--chain`, `--lag`, `--stop-at`,
/// `--attempts`,
/// `--threads`, `--once`.
void add_following_options(command& verb, following_options& to);

/// `--durability`, `--checkpoint-interval`, `--memory-folder`, `--archive`, `--group`,
/// `--state-root` and `--keep-roots`: what of a state survives, where its segment is, who may look,
/// and what it commits to.
void add_promise_options(command& verb, promise_options& to);

/// `--readers` and `--questions`.
void add_reading_options(command& verb, live::readers::options& to);

/// `--batch`.
void add_batch_option(command& verb, live::batching& to);

/// A time in milliseconds, at least `least` and at most an hour.
void add_milliseconds(command& verb, const std::string& name, std::chrono::nanoseconds& to,
                      unsigned least, const std::string& description);

} // namespace chainbase::driver
