//! Lists, read from the index.

use oncehook_core::{decide::Decision, outbox::OutboxState};
use oncehook_store::{List, event_key};

use crate::{
    builders::{event, pk},
    settle::parked,
    support::{World, later, now},
};

#[tokio::test]
async fn lists_are_read_page_by_page_and_without_a_scan() {
    let world = World::new().await;
    for index in 0..60 {
        let id = format!("evt_{index:03}");
        let key = world.outbox(&id).await;
        let (lease, item) = world.claimed(&key, now()).await;
        world.settle(&lease, &item, &parked(), later(index)).await;
        if index % 20 == 0 {
            let failed = Decision::Fail("no rule".to_owned());
            world
                .commit_at(&event(&format!("bad_{index}")), &failed, later(index))
                .await
                .unwrap();
        }
    }
    world.proxy.reset();
    let (mut found, mut from, mut pages) = (Vec::new(), None, 0);
    loop {
        let list = List::Parked("mail".to_owned());
        let page = world.ledger.listed_items(&list, later(57), from).await.unwrap();
        found.extend(page.items);
        (from, pages) = (page.next, pages + 1);
        if from.is_none() {
            break;
        }
    }
    let ids: Vec<String> = found
        .iter()
        .map(|item| item.view.as_ref().unwrap().event_id.clone())
        .collect();
    let wanted: Vec<String> = (0..58).map(|index| format!("evt_{index:03}")).collect();
    assert_eq!(
        ids, wanted,
        "oldest first, and not what came after the time asked for"
    );
    assert!(found.iter().all(|item| item.state == Some(OutboxState::Parked)));
    assert!(pages > 1);
    assert_eq!(world.proxy.count("Scan"), 0);

    let failed = List::Failed("shop".to_owned());
    let page = world
        .ledger
        .listed_events(&failed, later(99), None)
        .await
        .unwrap();
    let ids: Vec<&str> = page.items.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["bad_0", "bad_20", "bad_40"]);
    assert!(page.items[0].body.is_some() && page.items[0].listed);
    let none = List::Open("mail".to_owned(), 0);
    assert!(
        world
            .ledger
            .listed_items(&none, later(99), None)
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

#[tokio::test]
async fn what_a_sweep_registered_is_known() {
    let world = World::new().await;
    assert!(world.ledger.destinations().await.unwrap().is_empty());
    world.ledger.register(&["mail".to_owned()], 4).await.unwrap();
    assert_eq!(
        world.ledger.destinations().await.unwrap(),
        [("mail".to_owned(), 4)].into()
    );
    assert_eq!(event_key("stripe", "acct_1", "evt_1"), pk("evt_1"));
}
