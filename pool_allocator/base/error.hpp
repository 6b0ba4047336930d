#pragma once

#include <stdexcept>
#include <string>

namespace chainbase {

/// The root of everything chainbase throws. An expected outcome (not found, refused) is a return
/// value; an exception says that an invariant, the space or a file is broken or that a call was
/// wrong, names what and where, and ends with the next thing to do. After any of them the state is
/// what it was before the call.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The call is wrong: a type registered twice, a session out of order, a modifier that changes the
/// id. Nothing was changed.
class usage_error : public error {
public:
    using error::error;
};

/// A unique key is taken; the message names type, index and key.
class duplicate_key_error : public error {
public:
    using error::error;
};

/// `get` of an id or key that does not exist; the message names type, index and key.
class not_found_error : public error {
public:
    using error::error;
};

/// A limit of the format (objects per type, bytes per buffer, window size) is reached.
class limit_error : public error {
public:
    using error::error;
};

/// The file system has no room for a file to grow; the message names file, size and bytes asked.
class out_of_space_error : public error {
public:
    using error::error;
};

/// The operating system refused a file operation; the message names file, operation and reason.
class io_error : public error {
public:
    using error::error;
};

/// A folder or file of a state is a link, belongs to another user, or is open to more than it
/// should be, so that others may have written or read it; the message has the command that puts it
/// right.
class access_error : public error {
public:
    using error::error;
};

/// A folder or file that is no chainbase state, or one of another format version.
class format_error : public error {
public:
    using error::error;
};

/// A file of the state is truncated or altered; the message names file and offset.
class damaged_error : public error {
public:
    using error::error;
};

/// The state was written with another layout of a type; the message names the first difference.
class schema_error : public error {
public:
    using error::error;
};

/// Another process or database object holds the writer's lock.
class locked_error : public error {
public:
    using error::error;
};

/// The state was not closed and cannot be rolled back (the machine restarted), or its writer died
/// and no other one rolled it back yet; the message lists the choices.
class unclean_error : public error {
public:
    using error::error;
};

/// The segment that a reader has mapped was replaced: a checkpoint was restored, or the state was
/// created anew. The message says to open it again.
class replaced_error : public error {
public:
    using error::error;
};

/// A snapshot that cannot be read on: the state has moved on too far, or went back behind its
/// block. The message says why; a new snapshot can be taken at once.
class too_old_error : public error {
public:
    using error::error;
};

/// Just now the writer gives a reader of snapshots no moment in which it could read; try again.
class busy_error : public error {
public:
    using error::error;
};

} // namespace chainbase
