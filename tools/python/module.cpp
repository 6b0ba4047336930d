// Python.h comes first: it defines what other headers look at.
#include <chainbase/feed/entry.hpp>
#include <chainbase/state_root/state_tree.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/interruption.hpp>
#include <tools/progress.hpp>
#include <tools/python/arrow.hpp>
#include <tools/python/feed.hpp>
#include <tools/python/proofs.hpp>
#include <tools/python/table.hpp>
#include <tools/python/values.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace chainbase::python {

using without_gil = py::gil_scoped_release;

void interruption::handle_signals() {
    const py::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

namespace {

// --- errors ---

/// The classes of Python, which live as long as the process.
struct error_classes {
    PyObject *root, *usage, *duplicate_key, *not_found, *limit, *out_of_space, *io, *access,
        *format, *damaged, *schema, *locked, *unclean, *replaced, *too_old, *busy, *too_far_behind;
};
error_classes errors;

PyObject* new_error(py::module_& in, const char* name, const char* what,
                    std::initializer_list<PyObject*> bases) {
    py::tuple all(bases.size());
    std::size_t number = 0;
    for (PyObject* const one : bases)
        all[number++] = py::reinterpret_borrow<py::object>(one);
    PyObject* const made = PyErr_NewExceptionWithDoc((std::string("chainbase.") + name).c_str(),
                                                     what, all.ptr(), nullptr);
    if (!made) throw py::error_already_set();
    in.attr(name) = py::reinterpret_borrow<py::object>(made);
    return made;
}

void declare_errors(py::module_& in) {
    errors.root =
        new_error(in, "Error", "The root of everything that chainbase raises.", {PyExc_Exception});
    const auto add = [&](PyObject*& to, const char* name, const char* what,
                         PyObject* also = nullptr) {
        to = also ? new_error(in, name, what, {errors.root, also})
                  : new_error(in, name, what, {errors.root});
    };
    add(errors.usage, "UsageError", "The call is wrong; nothing was changed.", PyExc_ValueError);
    add(errors.not_found, "NotFoundError", "There is no object with this id or key.",
        PyExc_LookupError);
    add(errors.duplicate_key, "DuplicateKeyError", "A unique key is taken.");
    add(errors.limit, "LimitError", "A limit of the format or of the process is reached.");
    add(errors.out_of_space, "OutOfSpaceError", "A file system has no room.");
    add(errors.io, "IoError", "The operating system refused a file operation.");
    add(errors.access, "AccessError", "A file of the state belongs to others, or is open to them.");
    add(errors.format, "FormatError", "No state, or one of another format version.");
    add(errors.damaged, "DamagedError", "A file of the state is truncated or altered.");
    add(errors.schema, "SchemaError", "A type has another layout.");
    add(errors.locked, "LockedError", "Another process holds the lock.");
    add(errors.unclean, "UncleanError", "The state was not closed and cannot be rolled back.");
    add(errors.replaced, "ReplacedError", "The state was restored or made anew; open it again.");
    add(errors.too_old, "TooOldError",
        "The state has moved on too far from this block, or undid it; "
        "a new one can be taken at once.");
    add(errors.busy, "BusyError", "The writer gives no moment to read just now; try again.");
    add(errors.too_far_behind, "TooFarBehindError",
        "What follows in the feed cannot be told any more; begin anew with Feed.begin().");
}

/// From the most derived to the root.
void raise_as_python(std::exception_ptr problem) {
    const auto raise = [](PyObject* as, const char* what) { PyErr_SetString(as, what); };
    try {
        std::rethrow_exception(std::move(problem));
    } catch (const python_error&) { // it is set
    } catch (const inspect::state_changed&) {
        raise(errors.too_old, block_is_gone);
    } catch (const interrupted_error& one) {
        raise(PyExc_KeyboardInterrupt, one.what());
    } catch (const feed::too_far_behind_error& one) {
        raise(errors.too_far_behind, one.what());
    } catch (const usage_error& one) {
        raise(errors.usage, one.what());
    } catch (const duplicate_key_error& one) {
        raise(errors.duplicate_key, one.what());
    } catch (const not_found_error& one) {
        raise(errors.not_found, one.what());
    } catch (const limit_error& one) {
        raise(errors.limit, one.what());
    } catch (const out_of_space_error& one) {
        raise(errors.out_of_space, one.what());
    } catch (const io_error& one) {
        raise(errors.io, one.what());
    } catch (const access_error& one) {
        raise(errors.access, one.what());
    } catch (const format_error& one) {
        raise(errors.format, one.what());
    } catch (const damaged_error& one) {
        raise(errors.damaged, one.what());
    } catch (const schema_error& one) {
        raise(errors.schema, one.what());
    } catch (const locked_error& one) {
        raise(errors.locked, one.what());
    } catch (const unclean_error& one) {
        raise(errors.unclean, one.what());
    } catch (const replaced_error& one) {
        raise(errors.replaced, one.what());
    } catch (const too_old_error& one) {
        raise(errors.too_old, one.what());
    } catch (const busy_error& one) {
        raise(errors.busy, one.what());
    } catch (const error& one) {
        raise(errors.root, one.what());
    } catch (const std::filesystem::filesystem_error& one) {
        raise(errors.io, one.what());
    }
}

// --- descriptions ---

py::dict described(const type_schema& of) {
    py::list fields;
    for (const type_schema::field& one : of.fields)
        fields.append(py::make_tuple(one.name, one.type, one.offset, one.bytes));
    py::list keys;
    for (const type_schema::key& one : of.keys) {
        py::list parts;
        for (const type_schema::part& part : one.parts)
            parts.append(py::make_tuple(part.field, part.descending));
        keys.append(py::make_tuple(one.name, one.kind, py::tuple(parts)));
    }
    py::dict all;
    all["name"] = of.name;
    all["fields"] = py::tuple(fields);
    all["keys"] = py::tuple(keys);
    all["value_bytes"] = of.value_bytes;
    all["node_bytes"] = of.node_bytes;
    all["hash"] = of.hash();
    return all;
}

py::bytes as_bytes(archive::bytes_view bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

archive::bytes_view as_view(const py::bytes& bytes) {
    return {reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(bytes.ptr())),
            static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

// --- columns as arrays ---

/// What NumPy takes over by the buffer protocol, which is the same for all its versions.
struct memory {
    std::shared_ptr<void> owner;
    void* bytes;
    std::size_t size;
};

/// As numpy.dtype takes it.
py::object dtype_of(const rows::value_type& type) {
    using kind = rows::value_type::kind;
    const auto named = [&](const char* letter) {
        return py::str(letter + std::to_string(type.bytes));
    };
    switch (type.what) {
    case kind::boolean:
        return py::str("?");
    case kind::floating:
        return named("f");
    case kind::fixed_text:
        return named("S");
    case kind::number:
        break;
    default:
        return named("V");
    }
    if (type.bytes <= 8) return named(type.is_signed ? "i" : "u");
    py::list halves;
    halves.append(py::make_tuple("low", "u8"));
    halves.append(py::make_tuple("high", type.is_signed ? "i8" : "u8"));
    return halves;
}

py::object array_of(memory&& of, const py::object& type) {
    const py::module_ numpy = py::module_::import("numpy");
    if (of.size == 0) return numpy.attr("empty")(0, type);
    return numpy.attr("frombuffer")(py::cast(std::move(of)), type);
}

py::object array_of(std::vector<std::int64_t>&& numbers) {
    const auto kept = std::make_shared<std::vector<std::int64_t>>(std::move(numbers));
    return array_of({kept, kept->data(), kept->size() * sizeof(std::int64_t)}, py::str("i8"));
}

py::object array_of(growing_bytes& values, const py::object& type) {
    const std::size_t size = values.size();
    const std::shared_ptr<std::byte> kept = values.release();
    return array_of({kept, kept.get(), size}, type);
}

/// `ragged` makes an object of offsets, values and whether these are text.
py::object array_of(column& of, const py::object& ragged) {
    switch (of.what()) {
    case column::kind::text:
        return ragged(array_of(std::move(of.offsets())), array_of(of.values(), py::str("u1")),
                      of.is_text());
    case column::kind::list:
        return ragged(array_of(std::move(of.offsets())), array_of(of.children()[0], ragged), false);
    case column::kind::array: {
        py::object values = array_of(of.children()[0], ragged);
        const std::size_t rows = of.rows();
        if (py::hasattr(values, "reshape")) {
            py::list shape;
            shape.append(rows);
            shape.append(of.count());
            const py::tuple inner = values.attr("shape");
            for (std::size_t i = 1; i < inner.size(); ++i)
                shape.append(inner[i]);
            return values.attr("reshape")(shape);
        }
        std::vector<std::int64_t> offsets(rows + 1);
        for (std::size_t i = 0; i <= rows; ++i)
            offsets[i] = static_cast<std::int64_t>(i * of.count());
        return ragged(array_of(std::move(offsets)), values, false);
    }
    case column::kind::structure: {
        py::dict all;
        for (column& one : of.children())
            all[py::str(one.name())] = array_of(one, ragged);
        return all;
    }
    case column::kind::fixed:
        break;
    }
    return array_of(of.values(), dtype_of(of.type()));
}

// --- tables ---

/// A table with what makes rows of it.
class bound_table {
public:
    bound_table(std::shared_ptr<table> of, const py::object& class_of)
        : table_(std::move(of)), rows_(table_->schema(), class_of.ptr()) {}

    [[nodiscard]] const table& in() const noexcept { return *table_; }
    [[nodiscard]] py::object row(archive::bytes_view record) const {
        return py::reinterpret_steal<py::object>(rows_.row(record));
    }
    [[nodiscard]] py::object row_class() const {
        return py::reinterpret_borrow<py::object>(rows_.row_class());
    }

    [[nodiscard]] py::object get(const py::object& id, bool archive) const {
        const std::uint32_t wanted = id_of(id.ptr());
        std::optional<archive::byte_buffer> found;
        {
            const without_gil others;
            found = table_->get(wanted, archive);
        }
        return found ? row(*found) : py::none();
    }
    [[nodiscard]] record_batch find(const std::string& name, const py::tuple& parts,
                                    std::size_t limit, bool archive) const {
        if (name == "id") {
            if (parts.size() != 1) throw usage_error("an id is one whole number");
            const std::uint32_t wanted = id_of(parts[0].ptr());
            const without_gil others;
            record_batch found;
            if (const auto one = table_->get(wanted, archive)) found.add(*one);
            return found;
        }
        const type_schema::key& key = table_->key_called(name);
        const key_values values = key_of(table_->schema(), key, parts.ptr());
        table_->require_whole(key, values.parts);
        const without_gil others;
        return table_->find(key, values, limit, archive);
    }
    [[nodiscard]] py::object find_one(const std::string& key, const py::tuple& parts,
                                      bool archive) const {
        const record_batch found = find(key, parts, 1, archive);
        return found.size() == 0 ? py::none() : row(found[0]);
    }
    [[nodiscard]] py::list find_all(const std::string& key, const py::tuple& parts,
                                    bool archive) const {
        const record_batch found = find(key, parts, SIZE_MAX, archive);
        py::list all(found.size());
        for (std::size_t i = 0; i < found.size(); ++i)
            all[i] = row(found[i]);
        return all;
    }
    /// `first`, `last`: tuples of leading parts, or None.
    [[nodiscard]] std::unique_ptr<row_stream> range(const std::string& name,
                                                    const py::object& first, const py::object& last,
                                                    bool is_reverse, bool archive) const {
        table::range asked;
        asked.is_reverse = is_reverse;
        asked.archive = archive;
        if (name == "id") {
            if (!first.is_none()) asked.first_id = bound_of(first);
            if (!last.is_none()) asked.last_id = bound_of(last);
        } else {
            asked.key = &table_->key_called(name);
            if (!first.is_none()) asked.first = key_of(table_->schema(), *asked.key, first.ptr());
            if (!last.is_none()) asked.last = key_of(table_->schema(), *asked.key, last.ptr());
        }
        const without_gil others;
        return table_->rows(std::move(asked));
    }
    [[nodiscard]] py::dict columns(const std::vector<std::string>& names, bool archive,
                                   const py::object& ragged) const {
        std::vector<column> all;
        {
            const without_gil others;
            all = of_one_block([&] {
                return table_->columns(names, column::form::numpy, archive)->next(SIZE_MAX);
            });
        }
        py::dict made;
        for (column& one : all)
            made[py::str(one.name())] = array_of(one, ragged);
        return made;
    }
    [[nodiscard]] py::capsule stream(const std::vector<std::string>& names, bool is_binary,
                                     std::size_t rows, bool archive) const {
        auto made = std::make_unique<ArrowArrayStream>();
        {
            const without_gil others;
            auto from = table_->columns(names, column::form::arrow, archive);
            export_stream(std::move(from), is_binary ? arrow_texts::binary : arrow_texts::utf8,
                          rows, made.get());
        }
        return py::capsule(made.release(), "arrow_array_stream", [](PyObject* capsule) {
            auto* const its =
                static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
            if (its->release) its->release(its);
            delete its;
        });
    }

private:
    /// Of a state, the block may be undone meanwhile: then of another one.
    template <typename Read>
    [[nodiscard]] std::vector<column> of_one_block(Read&& read) const {
        constexpr int attempts = 3;
        for (int attempt = 1;; ++attempt)
            try {
                return read();
            } catch (const inspect::state_changed&) {
                if (attempt == attempts || table_->in()->now()->is_block()) throw;
            }
    }
    static std::uint32_t bound_of(const py::object& parts) {
        const py::tuple all = parts;
        if (all.size() != 1) throw usage_error("an id is one whole number");
        return id_of(all[0].ptr());
    }
    std::shared_ptr<table> table_;
    row_maker rows_;
};

/// What one thread at a time may use, also where Python lets another one run meanwhile.
class for_one_thread {
public:
    /// Requires the GIL. Throws usage_error when another thread is in it.
    explicit for_one_thread(bool& is_busy) : is_busy_(is_busy) {
        if (is_busy)
            throw usage_error("two threads use one iterator or feed at once; make one for each");
        is_busy = true;
    }
    ~for_one_thread() { is_busy_ = false; }
    for_one_thread(const for_one_thread&) = delete;
    for_one_thread& operator=(const for_one_thread&) = delete;

private:
    bool& is_busy_;
};

/// An iterator over rows.
class bound_rows {
public:
    bound_rows(std::shared_ptr<bound_table> of, std::unique_ptr<row_stream> from)
        : table_(std::move(of)), from_(std::move(from)) {}

    [[nodiscard]] py::object next() {
        const for_one_thread alone(is_busy_);
        if (at_ == batch_.size() && !read()) throw py::stop_iteration();
        return table_->row(batch_[at_++]);
    }

private:
    bool read() {
        if (is_over_) return false;
        if (table_->in().in()->is_closed())
            throw usage_error(table_->in().in()->name() + ": was closed; open it again");
        at_ = 0;
        batch_.clear();
        is_over_ = true; // also after an exception
        const without_gil others;
        is_over_ = !from_->next(batch_);
        return !is_over_;
    }

    std::shared_ptr<bound_table> table_;
    std::unique_ptr<row_stream> from_;
    record_batch batch_;
    std::size_t at_ = 0;
    bool is_busy_ = false;
    bool is_over_ = false;
};

// --- states ---

py::object root_of(opened& in) {
    std::optional<kept_root> found;
    {
        const without_gil others;
        found = kept_root::of(in);
    }
    if (!found) return py::none();
    const auto& its = found->record.recorded;
    py::dict types;
    for (const auto& one : found->record.types)
        types[py::str(std::string(one.name.view()))] = one.objects;
    return py::make_tuple(as_bytes(its.root), its.revision, its.objects,
                          its.revision == found->revision, types);
}

std::int64_t revision_of(opened& in) {
    const without_gil others;
    const auto now = in.now();
    std::int64_t revision = 0;
    now->begin();
    now->take_turn([&] { revision = now->source().revision(); });
    return revision;
}

std::vector<std::string> types_of(opened& in) {
    const without_gil others;
    const auto now = in.now();
    std::vector<std::string> names;
    now->begin();
    now->take_turn([&] {
        names.clear();
        for (const type_schema* one : now->source().types())
            names.push_back(one->name);
    });
    return names;
}

sha256_digest digest_of(const py::bytes& bytes) {
    sha256_digest digest;
    const archive::bytes_view all = as_view(bytes);
    if (all.size() != digest.size()) throw usage_error("a root is 32 bytes");
    std::ranges::copy(all, digest.begin());
    return digest;
}

const char* verified(const py::bytes& root, const std::string& type, const py::object& id,
                     const std::optional<py::bytes>& record, const py::bytes& path) {
    const std::uint32_t number = id_of(id.ptr());
    std::optional<sha256_digest> leaf;
    if (record) leaf = sha256().of(as_view(*record));
    switch (state_root::state_tree::verify(digest_of(root), type, number, leaf, as_view(path))) {
    case state_root::proof_result::included:
        return "included";
    case state_root::proof_result::excluded:
        return "excluded";
    case state_root::proof_result::invalid:
        break;
    }
    return "invalid";
}

// --- the feed ---

class bound_feed {
public:
    bound_feed(std::unique_ptr<following> of, py::object class_of)
        : feed_(std::move(of)), class_of_(std::move(class_of)) {}

    [[nodiscard]] following& feed() noexcept { return *feed_; }

    /// (kind, revision, serial, ((type, id, kind, before, after), ...), {type: next id}); None:
    /// there is none yet.
    [[nodiscard]] py::object next() {
        const for_one_thread alone(is_busy_);
        feed::entry one;
        std::vector<type_schema> types;
        bool is_there = false;
        {
            const without_gil others;
            feed_->with([&](feed::follower& from) {
                is_there = from.next(one);
                for (std::size_t i = rows_.size(); i < from.types().size(); ++i)
                    types.push_back(from.types()[i]);
            });
        }
        for (const type_schema& type : types) {
            if (std::ranges::find(names_, type.name) != names_.end()) continue;
            rows_.push_back(std::make_unique<row_maker>(type, class_of_.ptr()));
            names_.push_back(type.name);
        }
        return is_there ? entry_of(one) : py::none();
    }

private:
    [[nodiscard]] py::object row(std::uint32_t type, archive::bytes_view record) const {
        return record.empty() ? py::none()
                              : py::reinterpret_steal<py::object>(rows_[type]->row(record));
    }
    [[nodiscard]] py::object entry_of(const feed::entry& one) const {
        static constexpr const char* kinds[] = {"block", "pop", "irreversible"};
        static constexpr const char* changed[] = {"created", "modified", "removed", "archived",
                                                  "unarchived"};
        py::tuple changes(one.changes.size());
        for (std::size_t i = 0; i < one.changes.size(); ++i) {
            const feed::object_change& change = one.changes[i];
            changes[i] = py::make_tuple(
                names_[change.type], change.id, changed[static_cast<std::size_t>(change.what)],
                row(change.type, one.before(change)), row(change.type, one.after(change)));
        }
        py::dict next_ids;
        for (const feed::entry::next_id& each : one.next_ids)
            next_ids[py::str(names_[each.type])] = each.id;
        return py::make_tuple(kinds[static_cast<std::size_t>(one.what)], one.revision, one.serial,
                              changes, next_ids);
    }

    std::unique_ptr<following> feed_;
    py::object class_of_;
    std::vector<std::unique_ptr<row_maker>> rows_; ///< by number of the type
    std::vector<std::string> names_;
    bool is_busy_ = false;
};

template <typename Use>
auto with_feed(bound_feed& of, Use&& use) {
    const without_gil others;
    return of.feed().with(std::forward<Use>(use));
}

/// What the library logs goes to stderr; notebooks show that.
void log_to_stderr() {
    auto log = std::make_shared<spdlog::logger>("chainbase",
                                                std::make_shared<spdlog::sinks::stderr_sink_mt>());
    log->set_level(spdlog::level::warn);
    log->set_pattern("chainbase: %v");
    spdlog::set_default_logger(log);
    progress::is_quiet = true;
}

} // namespace

PYBIND11_MODULE(_chainbase, module) {
    log_to_stderr();
    declare_errors(module);
    py::register_exception_translator(raise_as_python);
    module.attr("__version__") = CHAINBASE_VERSION;
    module.def("verify", verified, py::arg("root"), py::arg("type"), py::arg("id"),
               py::arg("record"), py::arg("path"));

    py::class_<opened, std::shared_ptr<opened>>(module, "Opened")
        .def(py::init([](const std::string& name) {
                 const without_gil others;
                 return std::make_shared<opened>(name);
             }),
             py::arg("name"))
        .def("at_block",
             [](opened& of) {
                 const without_gil others;
                 return of.at_block();
             })
        .def("close",
             [](opened& of) {
                 const without_gil others;
                 of.close();
             })
        .def_property_readonly("closed", &opened::is_closed)
        .def_property_readonly("name", &opened::name)
        .def_property_readonly("is_state", &opened::is_state)
        .def_property_readonly("is_rolled_back",
                               [](opened& of) { return of.now()->source().is_rolled_back(); })
        .def("revision", revision_of)
        .def("types", types_of)
        .def("root", root_of)
        .def(
            "table",
            [](const std::shared_ptr<opened>& of, const std::string& type,
               const py::object& class_of) {
                std::shared_ptr<table> made;
                {
                    const without_gil others;
                    made = std::make_shared<table>(of, type);
                }
                return std::make_shared<bound_table>(std::move(made), class_of);
            },
            py::arg("type"), py::arg("class_of"));

    py::class_<bound_table, std::shared_ptr<bound_table>>(module, "Table")
        .def("schema", [](const bound_table& of) { return described(of.in().schema()); })
        .def_property_readonly("row_class", &bound_table::row_class)
        .def("count",
             [](const bound_table& of) {
                 const without_gil others;
                 return of.in().count();
             })
        .def("get", &bound_table::get, py::arg("id"), py::arg("archive"))
        .def("find", &bound_table::find_one, py::arg("key"), py::arg("parts"), py::arg("archive"))
        .def("find_all", &bound_table::find_all, py::arg("key"), py::arg("parts"),
             py::arg("archive"))
        .def(
            "range",
            [](const std::shared_ptr<bound_table>& of, const std::string& key,
               const py::object& first, const py::object& last, bool is_reverse, bool archive) {
                return std::make_unique<bound_rows>(
                    of, of->range(key, first, last, is_reverse, archive));
            },
            py::arg("key"), py::arg("first"), py::arg("last"), py::arg("reverse"),
            py::arg("archive"))
        .def("columns", &bound_table::columns, py::arg("names"), py::arg("archive"),
             py::arg("ragged"))
        .def("stream", &bound_table::stream, py::arg("names"), py::arg("binary"), py::arg("rows"),
             py::arg("archive"))
        .def("row", [](const bound_table& of, const py::bytes& record) {
            return of.row(as_view(record));
        });

    py::class_<memory>(module, "Memory", py::buffer_protocol()).def_buffer([](memory& of) {
        const auto size = static_cast<py::ssize_t>(of.size);
        return py::buffer_info(of.bytes, 1, py::format_descriptor<std::uint8_t>::format(), 1,
                               {size}, {1});
    });

    py::class_<bound_rows>(module, "Rows")
        .def("__iter__", [](py::object self) { return self; })
        .def("__next__", &bound_rows::next);

    py::class_<prover>(module, "Prover")
        .def(py::init([](const std::shared_ptr<opened>& block) {
                 const without_gil others;
                 return std::make_unique<prover>(block);
             }),
             py::arg("block"))
        .def("root", [](const prover& of) { return as_bytes(of.root()); })
        .def(
            "prove",
            [](const prover& of, const std::string& type, const py::object& id) {
                const std::uint32_t number = id_of(id.ptr());
                prover::proof made;
                {
                    const without_gil others;
                    made = of.prove(type, number);
                }
                py::object record = py::none();
                if (made.record) record = as_bytes(*made.record);
                return py::make_tuple(record, as_bytes(made.path));
            },
            py::arg("type"), py::arg("id"));

    py::class_<bound_feed>(module, "Feed")
        .def(py::init([](opened& of, const std::optional<std::string>& cursor,
                         std::optional<std::int64_t> from, py::object class_of) {
                 std::unique_ptr<following> made;
                 {
                     const without_gil others;
                     made = cursor ? std::make_unique<following>(of, *cursor)
                                   : std::make_unique<following>(of, from.value());
                 }
                 return std::make_unique<bound_feed>(std::move(made), std::move(class_of));
             }),
             py::arg("of"), py::arg("cursor"), py::arg("from_revision"), py::arg("class_of"))
        .def("is_new",
             [](bound_feed& of) {
                 return with_feed(of, [](feed::follower& one) { return one.is_new(); });
             })
        .def("begin",
             [](bound_feed& of) {
                 const without_gil others;
                 return of.feed().begin();
             })
        .def("next", &bound_feed::next)
        .def("position",
             [](bound_feed& of) {
                 return with_feed(of, [](feed::follower& one) { return one.position(); });
             })
        .def("revision",
             [](bound_feed& of) {
                 return with_feed(of, [](feed::follower& one) { return one.revision(); });
             })
        .def(
            "go_to",
            [](bound_feed& of, std::uint64_t position) {
                with_feed(of, [&](feed::follower& one) { one.go_to(position); });
            },
            py::arg("position"))
        .def("keep",
             [](bound_feed& of) { with_feed(of, [](feed::follower& one) { one.keep(); }); });
}

} // namespace chainbase::python
