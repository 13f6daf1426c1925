//! Path model and experiments.
