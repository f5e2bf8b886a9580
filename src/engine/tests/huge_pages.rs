//! What comes of the wish for huge pages, by the kernel's own account.
#![cfg(all(target_os = "linux", not(any(loom, shuttle))))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::sync::Arc;

use levada_engine::{Arena, ArenaConfig, ClassConfig, HugePages};

const SLOT_BYTES: usize = 64 << 10;

/// 8 MiB in one class.
fn arena(huge_pages: bool) -> Arc<Arena<u64>> {
    let classes = vec![ClassConfig { payload_bytes: SLOT_BYTES, slots: 128 }];
    Arena::new(&ArenaConfig { classes, huge_pages, prefault: true }).unwrap()
}

/// The lines of `/proc/self/smaps` about the mapping that the arena's slots lie in, the flags among them.
fn account(arena: &Arena<u64>) -> Vec<String> {
    let slot = arena.claim(SLOT_BYTES).unwrap().payload_mut().as_ptr() as usize;
    let mut account = Vec::new();
    let mut is_here = false;
    for line in fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        if let Some((start, end)) = line.split(' ').next().and_then(|range| range.split_once('-')) {
            let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16).unwrap());
            is_here = (start..end).contains(&slot);
        } else if is_here {
            account.push(line.to_owned());
        }
    }
    account
}

/// The kernel knows the advice for the mapping.
fn is_advised(account: &[String]) -> bool {
    let flags = account.iter().find_map(|line| line.strip_prefix("VmFlags:"));
    flags.expect("the kernel tells flags").split_whitespace().any(|flag| flag == "hg")
}

fn huge_kib(account: &[String]) -> u64 {
    let line = account.iter().find_map(|line| line.strip_prefix("AnonHugePages:"));
    line.expect("the kernel tells how much is huge").trim().trim_end_matches(" kB").parse().unwrap()
}

/// Claims every slot, and writes and reads it.
fn check_all_slots(arena: &Arena<u64>) {
    let mut all: Vec<_> = arena.claims(SLOT_BYTES, 128).collect();
    assert_eq!(all.len(), 128);
    all.iter_mut().zip(1..).for_each(|(slot, number)| slot.payload_mut().fill(number));
    assert!(all.iter_mut().zip(1..).all(|(slot, number)| slot.payload_mut().iter().all(|byte| *byte == number)));
}

/// The setting of the whole system, where the kernel has huge pages at all.
fn setting() -> Option<String> {
    let all = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    Some(all.split('[').nth(1)?.split(']').next()?.to_owned())
}

#[test]
fn the_arena_tells_what_came_of_the_wish() {
    let arena = arena(true);
    let account = account(&arena);
    match setting().as_deref() {
        None => assert!(arena.huge_pages() == HugePages::Refused && !is_advised(&account)),
        Some("never") => assert!(arena.huge_pages() == HugePages::Refused && huge_kib(&account) == 0),
        Some(_) => assert!(arena.huge_pages() == HugePages::Advised && is_advised(&account)),
    }
    check_all_slots(&arena);
}

#[test]
fn an_arena_that_wishes_for_none_gives_no_advice() {
    let arena = arena(false);
    assert_eq!(arena.huge_pages(), HugePages::Unwished);
    assert!(!is_advised(&account(&arena)));
    check_all_slots(&arena);
}

#[test]
fn an_arena_whose_advice_is_refused_lies_in_ordinary_pages() {
    // The filter ends with its thread.
    let thread = std::thread::spawn(|| {
        refuse_the_advice();
        let arena = arena(true);
        let account = account(&arena);
        assert_eq!(arena.huge_pages(), HugePages::Refused);
        assert!(!is_advised(&account));
        assert!(setting().as_deref() == Some("always") || huge_kib(&account) == 0);
        check_all_slots(&arena);
    });
    thread.join().unwrap();
}

/// From here on the kernel refuses this thread `madvise(_, _, MADV_HUGEPAGE)`, as a kernel without huge pages does, and nothing else.
fn refuse_the_advice() {
    let (load, equal, answer) =
        (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_RET);
    let step =
        |code: u32, when: u8, unless: u8, k: u32| libc::sock_filter { code: code as u16, jt: when, jf: unless, k };
    // Offsets in the kernel's `seccomp_data`: the number of the call, and the low half of its third argument.
    let (call, advice) = (0, 16 + 2 * 8 + if cfg!(target_endian = "big") { 4 } else { 0 });
    let mut steps = [
        step(load, 0, 0, call),
        step(equal, 0, 3, libc::SYS_madvise as u32),
        step(load, 0, 0, advice),
        step(equal, 0, 1, libc::MADV_HUGEPAGE as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EINVAL as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: both calls change what this thread may ask of the kernel; the filter and its steps outlive the second.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    };
    assert!(installed, "the kernel takes filters: {}", std::io::Error::last_os_error());
}
