//! The HTTP/1.1 server under the REST API and the metrics: an accept loop that bounds what a client may hold.
//!
//! `axum::serve` has no time-out for request headers and no bound on connections, hence this loop over hyper itself.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use futures::TryFutureExt;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::error::ServeError;

/// What one server lets its clients hold.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Connections served at once; more wait in the listen queue of the operating system.
    pub connections_max: usize,
    /// The time in which the headers of a request must arrive, and so how long a connection may idle between requests.
    pub header_time_max: Duration,
    /// The time in which the body of a request must arrive.
    pub body_time_max: Duration,
    /// The time after which a connection is closed at the end of its request, so that a client that never reads its
    /// answer does not keep its place.
    pub connection_time_max: Duration,
    /// The time that open requests get when the server stops or their connection is too old.
    pub drain_time_max: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections_max: 256,
            header_time_max: Duration::from_secs(15),
            body_time_max: Duration::from_secs(15),
            connection_time_max: Duration::from_secs(600),
            drain_time_max: Duration::from_secs(5),
        }
    }
}

/// The most bytes of request line and headers, and of body read ahead.
const READ_BUFFER_BYTES_MAX: usize = 128 * 1024;

/// How long the accept loop rests when the process has no file descriptor or memory left for another connection.
const ACCEPT_REST: Duration = Duration::from_millis(200);

/// Gives the router of the moment, for each request anew: a clone of it costs a reference count.
pub(crate) trait Routers: Fn() -> Router + Clone + Send + Sync + 'static {}

impl<F: Fn() -> Router + Clone + Send + Sync + 'static> Routers for F {}

/// Which server a bind error speaks of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    /// `REST` or `metrics`.
    pub(crate) name: &'static str,
    /// The flags that set the address and the port.
    pub(crate) flag: &'static str,
    /// Told the status of every answer.
    pub(crate) answered: fn(StatusCode),
}

/// Listens on `address` and returns the address bound (port 0 asks for a free one) with the future that serves it.
///
/// The future ends once `shutdown` has ended and open requests are answered, or their time is over.
pub(crate) async fn serve(
    address: SocketAddr,
    service: Service,
    routers: impl Routers,
    limits: ServerLimits,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(SocketAddr, impl Future<Output = ()> + Send + 'static), ServeError> {
    let bind_error = |source| ServeError::Bind { service: service.name, address, flag: service.flag, source };
    let listener = TcpListener::bind(address).await.map_err(bind_error)?;
    let bound = listener.local_addr().map_err(bind_error)?;
    Ok((bound, accept_until(listener, service, routers, limits, shutdown)))
}

async fn accept_until(
    listener: TcpListener,
    service: Service,
    routers: impl Routers,
    limits: ServerLimits,
    shutdown: impl Future<Output = ()> + Send,
) {
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let (stop, stopped) = watch::channel(false);
    let mut shutdown = pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            accepted = next_connection(&listener, &places) => match accepted {
                Ok((stream, place)) => {
                    let (routers, limits, stopped) = (routers.clone(), limits.clone(), stopped.clone());
                    tokio::spawn(serve_connection(stream, place, service, routers, limits, stopped));
                }
                Err(error) => {
                    tracing::warn!(%error, "no HTTP connection could be accepted");
                    sleep(ACCEPT_REST).await;
                }
            },
        }
    }
    drop(listener);
    // A connection holds a receiver until it ends, and ends within the drain time after this signal.
    drop(stopped);
    stop.send_replace(true);
    stop.closed().await;
}

/// Waits for a free place first, so that a server at its bound leaves new connections in the listen queue.
async fn next_connection(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return Ok((stream, place)),
            // The client gave up between its SYN and our accept: nothing is wrong here.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

async fn serve_connection(
    stream: TcpStream,
    _place: OwnedSemaphorePermit,
    service: Service,
    routers: impl Routers,
    limits: ServerLimits,
    mut stopped: watch::Receiver<bool>,
) {
    // Answers are small and written at once; Nagle's algorithm would only delay them. A refusal costs nothing else.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY was refused");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time_max)
        .max_buf_size(READ_BUFFER_BYTES_MAX)
        .serve_connection(
            TokioIo::new(stream),
            service_fn(|request| {
                let answer = TowerToHyperService::new(routers()).call(request);
                answer.inspect_ok(move |answer| (service.answered)(answer.status()))
            }),
        );
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => {
            if let Err(error) = ended {
                tracing::debug!(%error, "an HTTP connection failed");
            }
            return;
        }
        // An error means that the accept loop is gone, which asks for the same.
        _ = stopped.wait_for(|stopped| *stopped) => {}
        () = sleep(limits.connection_time_max) => {}
    }
    connection.as_mut().graceful_shutdown();
    if timeout(limits.drain_time_max, connection).await.is_err() {
        tracing::debug!("an HTTP connection was cut when its drain time was over");
    }
}
