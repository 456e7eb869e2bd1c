//! Large bodies in a bucket, as ministack's S3 has it.

use bytes::Bytes;
use http::Method;
use oncehook_edge::{Bucket, Signer};
use oncehook_store::{Bodies as _, BodyError};
use oncehook_tests::{Ministack, say};

#[tokio::test]
async fn a_body_is_put_copied_read_and_released() {
    let Some(ministack) = Ministack::start().await else {
        say("not run: set ONCEHOOK_TEST_MINISTACK to the ministack program, as `make test` does");
        return;
    };
    ministack.s3(Method::PUT, "/bodies").await;
    let bucket = |name: &str| Bucket::new(Signer::local(&ministack.endpoint), name.to_owned());
    let (held, none) = (bucket("bodies"), bucket("no-such-bucket"));
    let body = Bytes::from_iter((0..300_000_u32).map(|n| n.to_le_bytes()[0]));
    let (first, copied) = ("bodies/abc/1", "kept/abc/2");

    assert_eq!(held.get(first, 400_000).await, Ok(None));
    assert_eq!(held.copy(first, copied).await, Ok(false));
    held.put(first, body.clone()).await.unwrap();
    assert_eq!(held.get(first, 400_000).await, Ok(Some(body.clone())));
    assert_eq!(held.copy(first, copied).await, Ok(true));
    assert_eq!(held.get(copied, 400_000).await, Ok(Some(body.clone())));
    let tagged = || ministack.s3(Method::GET, "/bodies/kept/abc/2?tagging=");
    assert!(!tagged().await.contains("released"));
    held.release(copied).await.unwrap();
    let tags = tagged().await;
    assert!(
        tags.contains("<Key>released</Key>") && tags.contains("<Value>yes</Value>"),
        "{tags}"
    );
    assert_eq!(
        held.get(copied, 400_000).await,
        Ok(Some(body.clone())),
        "released is not deleted"
    );

    assert!(held.get(first, 1000).await.is_err(), "more than may be read");
    for result in [none.put(first, body).await, none.get(first, 9).await.map(|_| ())] {
        assert!(
            matches!(&result, Err(BodyError::Broken(why)) if why.contains("NoSuchBucket")),
            "{result:?}"
        );
    }
    let nobody = Bucket::new(Signer::local("http://127.0.0.1:9"), "bodies".to_owned());
    assert!(matches!(nobody.get(first, 9).await, Err(BodyError::Busy(_))));
}
