//! Real shells and terminals.
