//! Flows and pools against servers made from the published protocols.
