#include <tests/failure/attempt.hpp>
#include <tests/failure/killed_chain.hpp>
#include <tests/failure/state_image.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

namespace chainbase::test {

attempt attempt_apart(const std::function<void()>& work) {
    const scratch_folder place;
    const auto file = place / "said";
    const ending end = run_process([&] {
        ::alarm(60);
        std::string said;
        try {
            work();
        } catch (const error& e) {
            said = e.what();
            expect(said.size() > 20, "says little: " + said);
        }
        write_all(file, said);
    });
    expect(!end.killed, "killed");
    const std::string said = read_all(file);
    return {said.empty() ? verdict::works : verdict::refused, said};
}

} // namespace chainbase::test
