mod config;
mod numbers;
mod rules;
mod settle;
mod vectors;
mod verify_cases;
mod verify_events;
mod verify_laws;
