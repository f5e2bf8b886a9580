//! Connections that are encrypted, with a server whose certificate it signed itself.

use std::path::{Path, PathBuf};

use levada_archive::{Archive, ArchiveError, PostgresArchive};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;

use crate::server::{Server, give_to_server, options};

/// A server that offers TLS, with a certificate for `name`.
fn server(name: &str) -> (Server, TempDir, PathBuf) {
    let server = Server::start();
    let CertifiedKey { cert, key_pair } = generate_simple_self_signed([name.to_owned()]).unwrap();
    for (file, text) in [("server.crt", cert.pem()), ("server.key", key_pair.serialize_pem())] {
        let path = server.data().join(file);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        give_to_server(&path);
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root.crt");
    std::fs::write(&root, cert.pem()).unwrap();
    server.stop();
    server.resume_with("-c ssl=on");
    (server, folder, root)
}

/// Opens an archive by a URL with these parameters, and says whether its connection is encrypted.
fn encrypted(server: &Server, folder: &Path, parameters: &str) -> Result<bool, ArchiveError> {
    let url = server.url("postgres", parameters).parse().unwrap();
    let archive = PostgresArchive::open(&url, &options(&folder.join("backlog"), 16))?;
    assert_eq!(archive.message_count()?, 0);
    let ours = "SELECT bool_and(ssl), bool_or(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                WHERE application_name = 'levada'";
    let answer = server.sql("postgres", ours);
    assert!(["t|t\n", "f|f\n"].contains(&answer.as_str()), "{answer}");
    Ok(answer.starts_with('t'))
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn each_mode_does_what_its_name_says() {
    let (server, folder, root) = server("127.0.0.1");
    let encrypted = |parameters: &str| encrypted(&server, folder.path(), parameters);
    assert!(!encrypted("?sslmode=disable").unwrap());
    for parameters in ["", "?sslmode=prefer", "?sslmode=require"] {
        assert!(encrypted(parameters).unwrap(), "{parameters}");
    }
    let trusted = format!("?sslmode=verify-full&sslrootcert={}", root.display());
    assert!(encrypted(&trusted).unwrap());
    let unknown = encrypted("?sslmode=verify-full").unwrap_err().to_string();
    assert!(unknown.contains("UnknownIssuer") || unknown.contains("trusted certificates"), "{unknown}");
    let missing = encrypted("?sslmode=verify-full&sslrootcert=/nowhere.pem").unwrap_err().to_string();
    assert!(missing.contains("sslrootcert /nowhere.pem"), "{missing}");
    // What plain connections are told when the server wants none.
    server.stop();
    server.resume_with("-c ssl=off");
    assert!(!encrypted("?sslmode=prefer").unwrap());
    let refused = encrypted("?sslmode=require").unwrap_err();
    assert!(matches!(refused, ArchiveError::Database { .. }), "{refused}");
}

#[test]
#[ignore = "needs PostgreSQL; tools/test --part postgres runs it"]
fn a_certificate_for_another_host_is_refused() {
    let (server, folder, root) = server("db.example.org");
    assert!(encrypted(&server, folder.path(), "?sslmode=require").unwrap());
    let trusted = format!("?sslmode=verify-full&sslrootcert={}", root.display());
    let refused = encrypted(&server, folder.path(), &trusted).unwrap_err().to_string();
    assert!(refused.contains("not valid for name"), "{refused}");
}
