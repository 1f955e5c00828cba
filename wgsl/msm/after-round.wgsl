// Entries that a bucket has after one more round of adding pairs: half, rounded up; none once a single one was left,
// since that is its sum.
fn after_round(count: u32) -> u32 { return select(0u, (count + 1u) / 2u, count > 1u); }
