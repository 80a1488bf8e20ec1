//! Futures that complete even if their caller is dropped.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A future that continues in the background if it is dropped while running: dispatchers drop their calls at shutdown.
pub struct Finish<T: Send + 'static> {
    rest: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
}

impl<T: Send + 'static> Finish<T> {
    /// Wraps a future. Once polled, it runs to completion.
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { rest: Some(Box::pin(future)) }
    }
}

impl<T: Send + 'static> Future for Finish<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(rest) = &mut self.rest else { return Poll::Pending };
        let polled = rest.as_mut().poll(context);
        if polled.is_ready() {
            self.rest = None;
        }
        polled
    }
}

impl<T: Send + 'static> Drop for Finish<T> {
    fn drop(&mut self) {
        // Without a runtime the future cannot complete; its own destructors handle that.
        if let Some(rest) = self.rest.take()
            && let Ok(runtime) = Handle::try_current()
        {
            drop(runtime.spawn(rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::oneshot::channel;

    use super::Finish;

    #[tokio::test]
    async fn it_is_finished_though_its_caller_has_gone() {
        let (go, wait) = channel::<()>();
        let done = Arc::new(tokio::sync::Notify::new());
        let at_the_end = Arc::clone(&done);
        let finish = Finish::new(async move {
            wait.await.ok();
            at_the_end.notify_one();
        });
        assert!(tokio::time::timeout(Duration::from_millis(10), finish).await.is_err());
        go.send(()).expect("it still waits");
        tokio::time::timeout(Duration::from_secs(60), done.notified()).await.expect("it has been finished");
    }
}
