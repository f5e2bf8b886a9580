//! A process in a memory cgroup of 512 MiB where this machine lets one be made; else its peak of resident memory is measured alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the process may use.
pub const LIMIT_BYTES: u64 = 512 << 20;

/// A cgroup of its own, which goes with this.
struct Cage(PathBuf);

impl Cage {
    fn make() -> Option<Self> {
        let name = format!("levada-chunk-{}", std::process::id());
        let kinds = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        kinds.into_iter().find_map(|(root, limit)| {
            let folder = Path::new(root).join(&name);
            // A folder elsewhere than in a cgroup's file system has no such file.
            fs::create_dir(&folder).ok()?;
            let cage = Self(folder);
            let is_cgroup = cage.0.join("cgroup.procs").exists() && cage.0.join(limit).exists();
            (is_cgroup && fs::write(cage.0.join(limit), LIMIT_BYTES.to_string()).is_ok()).then_some(cage)
        })
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Runs a command to its end within the limit; gives what it said, and the most bytes that it had resident.
pub fn run(command: Command) -> (Output, u64) {
    let cage = Cage::make();
    let enter =
        cage.as_ref().map(|cage| format!("echo $$ > {}/cgroup.procs && ", cage.0.display())).unwrap_or_default();
    println!("memory cgroup: {}", cage.as_ref().map_or("none", |_| "512 MiB"));
    let mut shell = Command::new("sh");
    // The shell becomes the program, which is watched from outside.
    shell.args(["-c", &format!("{enter}exec \"$@\""), "sh"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let watching = std::thread::spawn(move || {
        let mut peak_bytes = 0;
        while let Some(bytes) = peak_of(&status) {
            peak_bytes = bytes.max(peak_bytes);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        peak_bytes
    });
    let output = child.wait_with_output().unwrap();
    let peak_bytes = watching.join().unwrap();
    assert!(peak_bytes > 0, "the process was seen");
    (output, peak_bytes)
}

/// The most bytes that a process had resident; none once it has ended.
fn peak_of(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let kib: u64 =
        text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1_024)
}
