//! A PostgreSQL server of the tests' own, on loopback, with its data in a temporary folder.

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use levada_archive::{PostgresOptions, PostgresSchema, PostgresUrl};
use tempfile::TempDir;

/// A server, with everything as its package sets it up: what is committed is synced.
pub struct Server {
    folder: TempDir,
    port: u16,
    databases: AtomicU64,
    /// Stops the server when its standard input ends, and so when this process does, in whatever way.
    warden: Child,
}

/// The server that tests which leave it running have in common; it ends with the process.
pub fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

/// Options for an archive whose local log is `folder`, in partitions of `partition_ns`; retention is looked at whenever it is asked for.
pub fn options(folder: &Path, partition_ns: i64) -> PostgresOptions {
    PostgresOptions {
        schema: PostgresSchema::Levada,
        connections_max: 4,
        backlog_folder: folder.to_owned(),
        backlog_bytes: 1 << 20,
        partition_ns,
        retention_interval: Duration::ZERO,
    }
}

impl Server {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        if is_root() {
            let id = run(Command::new("id").args(["-u", "postgres"])).trim().parse().unwrap();
            chown(folder.path(), Some(id), None).unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let data = folder.path().join("data");
        run(tool("initdb").args(["--auth=trust", "--username=waku", "--encoding=UTF8", "--locale=C", "-D"]).arg(&data));
        let mut warden = tool("sh");
        // It ignores the interrupt that a terminal sends to all of a test run, so that it can do its duty then.
        let duty = format!(
            "trap '' INT; read line; '{}' -D '{1}' -m immediate stop; rm -rf '{2}'",
            programs().join("pg_ctl").display(),
            data.display(),
            folder.path().display()
        );
        let warden = warden.args(["-c", &duty]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let warden = warden.spawn().unwrap();
        let server = Self { folder, port, databases: AtomicU64::new(0), warden };
        server.resume();
        server
    }

    /// Starts the server again after [`Self::stop`].
    pub fn resume(&self) {
        self.resume_with("");
    }

    /// Starts the server again, with further options.
    pub fn resume_with(&self, options: &str) {
        let options =
            format!("-p {} -c listen_addresses=127.0.0.1 -k {} {options}", self.port, self.folder.path().display());
        let log = self.folder.path().join("log");
        run(tool("pg_ctl").arg("-D").arg(self.data()).arg("-l").arg(log).args(["-w", "-o", &options, "start"]));
    }

    /// Stops the server at once, as a crash would.
    pub fn stop(&self) {
        run(tool("pg_ctl").arg("-D").arg(self.data()).args(["-w", "-m", "immediate", "stop"]));
    }

    pub fn create_database(&self) -> PostgresUrl {
        let name = format!("waku_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name, "").parse().unwrap()
    }

    /// What a statement answers, in plain lines. It goes over a connection of its own.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let url = self.url(database, "");
        run(Command::new(programs().join("psql")).args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", &url, "-c", statement]))
    }

    /// The URL of a database, with `parameters` behind it.
    pub fn url(&self, database: &str, parameters: &str) -> String {
        format!("postgres://waku@127.0.0.1:{}/{database}{parameters}", self.port)
    }

    /// The folder of the server's data, which belongs to it.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

/// Gives a file to the user that runs the server.
pub fn give_to_server(path: &Path) {
    use std::os::unix::fs::MetadataExt;
    if is_root() {
        let owner = std::fs::metadata(path.parent().unwrap()).unwrap();
        chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.warden.stdin.take());
        let _ = self.warden.wait();
    }
}

/// The name of a database.
pub fn name_of(url: &PostgresUrl) -> String {
    url.to_string().rsplit('/').next().unwrap().to_owned()
}

/// Whether there is a PostgreSQL to start.
pub fn is_installed() -> bool {
    find_programs().is_some()
}

/// The folder with the programs of the newest PostgreSQL here.
fn programs() -> PathBuf {
    find_programs().expect("PostgreSQL is installed in /usr/lib/postgresql")
}

fn find_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = versions.map(|version| version.path().join("bin"));
    folders.filter(|folder| folder.join("initdb").exists()).max()
}

/// A program that does not run as root: PostgreSQL refuses to.
fn tool(name: &str) -> Command {
    let program = if name == "sh" { PathBuf::from("/bin/sh") } else { programs().join(name) };
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

fn run(command: &mut Command) -> String {
    // A server started by it must not hold a pipe of ours open.
    let output = tempfile::NamedTempFile::new().unwrap();
    let status =
        command.stdin(Stdio::null()).stdout(output.reopen().unwrap()).stderr(output.reopen().unwrap()).status();
    let text = std::fs::read_to_string(output.path()).unwrap();
    assert!(status.unwrap().success(), "{command:?}: {text}");
    text
}
