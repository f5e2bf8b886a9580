//! Which placement the command line asks for.

use levada_engine::Placement;

/// The first argument's; without one, [`Placement::PerCore`]. None, and a sentence on standard error, if there is no such placement.
pub fn asked_for() -> Option<Placement> {
    match std::env::args().nth(1).as_deref() {
        None | Some("per-core") => Some(Placement::PerCore),
        Some("dedicated") => Some(Placement::Dedicated),
        Some("invoker") => Some(Placement::Invoker),
        Some(other) => {
            eprintln!("\"{other}\" is no placement; say per-core, dedicated or invoker");
            None
        }
    }
}
