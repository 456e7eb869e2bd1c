mod vectors;
mod verify_laws;
mod verify_events;
