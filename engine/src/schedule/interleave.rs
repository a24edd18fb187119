//! The order of the passes.

gpuprof_model::words! {
    /// In which order the passes of a sweep run.
    pub enum Interleave = Rounds {
        /// In rounds: every configuration once in random order, then all again, so that machine
        /// drift does not pick the winner.
        Rounds = "rounds",
        /// All passes of one configuration, then the next.
        None = "none",
    }
}
