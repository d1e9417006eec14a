//! Waiting for several futures at once, so that one flush of the disk serves them all.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

/// Waits for all, and returns their results in order.
pub(super) async fn join<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<(Option<Pin<Box<_>>>, Option<T>)> =
        futures.into_iter().map(|future| (Some(Box::pin(future)), None)).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for (running, result) in &mut running {
            let Some(future) = running else { continue };
            match future.as_mut().poll(context) {
                Poll::Ready(done) => (*running, *result) = (None, Some(done)),
                Poll::Pending => waiting = true,
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    running.into_iter().filter_map(|(_, result)| result).collect()
}

/// Waits for the first of two.
pub(super) async fn either<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| {
        let done = one.as_mut().poll(context).is_ready() || other.as_mut().poll(context).is_ready();
        if done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
