@group(0) @binding(4) var<storage, read> sources: array<FRPacked>;
@group(0) @binding(5) var<storage, read_write> sums: array<FRPacked>;
@group(0) @binding(6) var<uniform> params: AccumulateParams;

fn source_at(place: u32) -> FRPacked { return sources[place]; }
