//! A test for both relay routers.

/// Each test once with each router.
macro_rules! with_both_routers {
    ($($test:ident,)+) => {
        mod levada {
            $(#[tokio::test(flavor = "multi_thread")] async fn $test() { super::$test(levada_net::RouterKind::Levada).await })+
        }
        mod stock {
            $(#[tokio::test(flavor = "multi_thread")] async fn $test() { super::$test(levada_net::RouterKind::Stock).await })+
        }
    };
}
pub(crate) use with_both_routers;
