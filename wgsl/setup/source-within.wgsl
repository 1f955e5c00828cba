// Sources and targets are parts of one vector, which a kernel can bind only once.
@group(0) @binding(4) var<storage, read_write> sums: array<FRPacked>;
@group(0) @binding(5) var<uniform> params: AccumulateParams;

fn source_at(place: u32) -> FRPacked { return sums[place]; }
