//! The seccomp filter: calls that a held command may not make, whatever rights it has.
//!
//! What matters is held by more than this (Landlock, read-only mounts, no capabilities); the filter closes the calls that
//! reach files and other processes by ways which those were not made for.

/// Numbers of `linux/audit.h`.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// Calls whose numbers are the same on every architecture and younger than some C libraries.
const QUOTACTL_FD: libc::c_long = 443;
const OPEN_TREE_ATTR: libc::c_long = 467;

/// Files by another way than their path, and mounts: a file opened by its handle, or a mount that is copied, goes past the
/// read-only mounts above it.
const FILES: &[libc::c_long] = &[
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
];

/// The namespaces and descriptors of others.
const OTHERS: &[libc::c_long] = &[libc::SYS_setns, libc::SYS_pidfd_getfd];

/// The kernel and the machine. Without capabilities nearly all of these fail by themselves.
const MACHINE: &[libc::c_long] = &[
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    QUOTACTL_FD,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Input and output ports.
#[cfg(target_arch = "x86_64")]
const PORTS: &[libc::c_long] = &[libc::SYS_iopl, libc::SYS_ioperm];
#[cfg(not(target_arch = "x86_64"))]
const PORTS: &[libc::c_long] = &[];

/// Flags of `clone` and `unshare` that make a namespace: in a user namespace of its own a command has every capability again.
const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// `CLONE_NEWTIME`: only `unshare` takes it; the same bit is a part of the signal number of `clone`.
const NEW_TIME: u32 = 0x80;

// Offsets in `struct seccomp_data`: the number, the architecture, the low half of the first argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const FIRST: u32 = 16;

/// The second table of calls of x86-64 begins here.
const OTHER_TABLE: u32 = 0x4000_0000;

type Code = libc::sock_filter;

fn code(class: u32, (yes, no): (u8, u8), k: u32) -> Code {
    Code { code: class as u16, jt: yes, jf: no, k }
}

fn load(offset: u32) -> Code {
    code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, (0, 0), offset)
}

fn jump(test: u32, value: u32, yes: u8, no: u8) -> Code {
    code(libc::BPF_JMP | test | libc::BPF_K, (yes, no), value)
}

fn equals(value: u32, yes: u8, no: u8) -> Code {
    jump(libc::BPF_JEQ, value, yes, no)
}

fn answer(value: u32) -> Code {
    code(libc::BPF_RET | libc::BPF_K, (0, 0), value)
}

fn error(number: libc::c_int) -> Code {
    answer(libc::SECCOMP_RET_ERRNO | number as u32)
}

/// The filter for a command whose files (`files`) or network (`!network`) are held; empty when neither is. Programs of
/// another architecture, whose calls have other numbers, are killed.
pub(super) fn filter(files: bool, network: bool) -> Vec<Code> {
    if !files && network {
        return Vec::new();
    }
    let mut all = vec![
        load(ARCH),
        equals(ARCHITECTURE.unwrap_or_default(), 1, 0),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
        jump(libc::BPF_JGE, OTHER_TABLE, 0, 1),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
    ];
    if files {
        for call in [FILES, OTHERS, MACHINE, PORTS].into_iter().flatten() {
            all.extend([equals(*call as u32, 0, 1), error(libc::EPERM)]);
        }
        for (call, flags) in [(libc::SYS_unshare, NAMESPACES | NEW_TIME), (libc::SYS_clone, NAMESPACES)] {
            all.extend([
                equals(call as u32, 0, 4),
                load(FIRST),
                jump(libc::BPF_JSET, flags, 0, 1),
                error(libc::EPERM),
                answer(libc::SECCOMP_RET_ALLOW),
            ]);
        }
        // Its flags stand in memory, where a filter cannot look. Libraries then take the older call.
        all.extend([equals(libc::SYS_clone3 as u32, 0, 1), error(libc::ENOSYS)]);
    }
    if !network {
        all.extend([
            // It can make sockets without the call below.
            equals(libc::SYS_io_uring_setup as u32, 0, 1),
            error(libc::ENOSYS),
            equals(libc::SYS_socket as u32, 0, 4),
            // Sockets of this machine only; loopback is none of them.
            load(FIRST),
            equals(libc::AF_UNIX as u32, 2, 0),
            equals(libc::AF_NETLINK as u32, 1, 0),
            error(libc::EPERM),
        ]);
    }
    all.push(answer(libc::SECCOMP_RET_ALLOW));
    all
}

/// Whether filters are known here, on an architecture that ours is written for.
pub(super) fn has_seccomp() -> bool {
    let action: u32 = libc::SECCOMP_RET_KILL_PROCESS;
    // SAFETY: the call reads one number.
    let known = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    known == 0 && ARCHITECTURE.is_some()
}
