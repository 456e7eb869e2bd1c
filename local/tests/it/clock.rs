use jiff::{SignedDuration, Timestamp};
use oncehook_core::clock::Clock;
use oncehook_local::clock::ManualClock;

#[test]
fn the_clock_moves_only_when_told() {
    let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
    assert_eq!(clock.now(), clock.now());
    assert_eq!(clock.advance(SignedDuration::from_secs(5)).as_second(), 5);
    assert_eq!(clock.advance(SignedDuration::from_secs(-2)), clock.now());
    clock.set(Timestamp::UNIX_EPOCH);
    assert_eq!(clock.now(), Timestamp::UNIX_EPOCH);
}
