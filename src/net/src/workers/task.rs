//! The task of a connection on its worker.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::AcqRel;
use std::task::{Context, Poll, Wake, Waker};

use futures::task::AtomicWaker;

use super::here;
use crate::counters::CROSS_WORKER_WAKES;

/// A task that belongs to a worker, and counts who wakes it from elsewhere.
pub(super) struct Homed {
    task: Pin<Box<dyn Future<Output = ()> + Send>>,
    bell: Arc<Bell>,
    waker: Waker,
}

struct Bell {
    worker: usize,
    /// It was rung since the task was polled last: further wakes change nothing.
    is_rung: AtomicBool,
    task: AtomicWaker,
}

impl Homed {
    pub(super) fn new(task: Pin<Box<dyn Future<Output = ()> + Send>>, worker: usize) -> Self {
        let bell = Arc::new(Bell { worker, is_rung: AtomicBool::new(false), task: AtomicWaker::new() });
        Self { task, waker: Waker::from(bell.clone()), bell }
    }
}

impl Future for Homed {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { task, bell, waker } = &mut *self;
        bell.task.register(cx.waker());
        // An exchange, so that what a ringer before this has written is seen by the poll below; who rings after it wakes the task.
        // Pairs with the exchange in `wake_by_ref`.
        bell.is_rung.swap(false, AcqRel);
        task.as_mut().poll(&mut Context::from_waker(waker))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Pairs with the exchange in `poll`.
        if !self.is_rung.swap(true, AcqRel) {
            CROSS_WORKER_WAKES.add(u64::from(here() != Some(self.worker)));
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::task::ready;

    use super::*;

    /// Ready when it has been polled so often; it leaves its waker outside each time.
    struct Counting(Arc<(AtomicUsize, AtomicWaker)>);

    impl Future for Counting {
        type Output = ();

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            self.0.1.register(cx.waker());
            if self.0.0.fetch_add(1, Relaxed) < 2 { Poll::Pending } else { Poll::Ready(()) }
        }
    }

    struct Times(AtomicUsize);

    impl Wake for Times {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn a_wake_reaches_the_task_once_and_again_after_each_poll() {
        let (shared, times) = (Arc::default(), Arc::new(Times(AtomicUsize::new(0))));
        let mut task = Homed::new(Box::pin(Counting(Arc::clone(&shared))), 0);
        let waker = Waker::from(times.clone());
        let mut poll = || {
            ready!(Pin::new(&mut task).poll(&mut Context::from_waker(&waker)));
            Poll::Ready(())
        };
        for round in 1..=2 {
            assert!(poll().is_pending());
            let kept = shared.1.take().expect("the task left its waker");
            (0..3).for_each(|_| kept.wake_by_ref());
            assert_eq!(times.0.load(Relaxed), round);
        }
        assert!(poll().is_ready());
    }
}
