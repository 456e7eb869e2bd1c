mod vectors;
mod verify_cases;
mod verify_laws;
mod verify_events;
mod settle;
mod config;
mod rules;
mod numbers;
