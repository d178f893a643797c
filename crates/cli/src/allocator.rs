//! The allocator of the process, and how soon it gives memory back.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of the option `purge_delay`, which the bindings do not name; it is the same in all versions.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Unused memory returns to the system after a millisecond instead of a second. A command is a sequence of phases, each
/// of which reuses the memory of the phase before: a second is longer than most commands run.
#[allow(
    unsafe_code,
    reason = "options of the allocator are set by a foreign function. Without this plans of some thousand resources hold \
              10 to 20 % more memory, for no gain in time."
)]
pub(crate) fn give_back_soon() {
    // SAFETY: the function stores a number in a table; the index is checked there.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, 1) };
}
