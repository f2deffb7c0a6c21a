//! The binding for the edge.
