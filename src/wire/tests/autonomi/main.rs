//! Autonomi's chunk protocol against ant-protocol's own output, and against a reference made of `postcard` and of types
//! that mirror ant-protocol's field by field.

mod compare;
mod generate;
mod lengths;
mod limits;
mod mirror;
mod model;
mod mutate;
mod padding;
#[path = "../random/mod.rs"]
mod random;
mod vectors;
mod view;
