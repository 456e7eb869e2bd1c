mod vectors;
mod verify_cases;
mod verify_laws;
mod verify_events;
mod settle;
